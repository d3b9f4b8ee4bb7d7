"""Variables of the environment that are no settings: keys of providers, and two of Podium's own."""

from __future__ import annotations

import os
from collections.abc import Mapping

PROVIDER_KEYS = (
    "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "GROQ_API_KEY",
    "MISTRAL_API_KEY", "COHERE_API_KEY", "OPENROUTER_API_KEY", "DEEPSEEK_API_KEY", "XAI_API_KEY",
    "AWS_SECRET_ACCESS_KEY", "AWS_BEARER_TOKEN_BEDROCK", "OPENAI_COMPATIBLE_API_KEY", "OLLAMA_API_KEY",
    "HF_TOKEN", "TAVILY_API_KEY", "BRAVE_API_KEY",
)  # fmt: skip
"""Keys that providers know by these names; Podium gives them no second one."""

OTHER_VARIABLES = ("PODIUM_CONFIG", "PODIUM_DEBUG")
"""`PODIUM_*` variables that are no settings: another user file, and tracebacks for unexpected errors."""


def debug_wanted() -> bool:
    """Whether the user asked for tracebacks of unexpected errors."""
    return os.environ.get("PODIUM_DEBUG", "") not in ("", "0")


def variable(*names: str, env: Mapping[str, str] | None = None) -> str:
    """The first of these variables that is set; keys and addresses of providers keep their own names."""
    environ = os.environ if env is None else env
    return next((value for name in names if (value := environ.get(name, "").strip())), "")


def provider_keys(env: Mapping[str, str] | None = None) -> list[str]:
    """Names of the known provider keys that are set; never their values."""
    environ = os.environ if env is None else env
    return [name for name in PROVIDER_KEYS if environ.get(name)]
