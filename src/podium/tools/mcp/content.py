"""What an MCP tool gave back, as text."""

from __future__ import annotations

import msgspec
from mcp_types import (
    AudioContent,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)


def text_of(result: CallToolResult) -> str:
    """All of it in one text; what is no text is named."""
    text = "\n".join(_told(block) for block in result.content).strip()
    if not text and result.structured_content is not None:
        return msgspec.json.encode(result.structured_content).decode()
    return text or "[nothing]"


def _told(block: ContentBlock) -> str:
    match block:
        case TextContent():
            return block.text
        case ImageContent() | AudioContent():
            return f"[{block.mime_type}, {len(block.data) * 3 // 4:,} bytes]"
        case ResourceLink():
            return f"[{block.name}: {block.uri}]"
        case EmbeddedResource(resource=TextResourceContents() as resource):
            return resource.text
        case EmbeddedResource(resource=resource):
            return f"[{resource.mime_type or 'data'}: {resource.uri}]"
