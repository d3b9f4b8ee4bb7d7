"""True sentences of real articles that earlier rules refused, and false ones beside them.

The passages are from the Debian Developer's Reference and from Git's manuals.
"""

from __future__ import annotations

import pytest

from podium.workflows.research.contracts import Check, Claim, FoundPassage
from podium.workflows.research.measures.citations import split_claims
from podium.workflows.research.measures.support import find_support
from podium.workflows.research.quality import tied

KEYRINGS = (
    "To get the files processed there, they need to be signed with a key in the Debian Developers keyring or "
    "the Debian Maintainers keyring (see https://wiki.debian.org/DebianMaintainer)."
)
EACH = (
    "Each upload to Debian consists of a signed ``.changes`` file describing the requested change to the "
    "archive, plus the source and binary package files that are referenced by the ``.changes`` file."
)
GLUED = (
    "This directory is not visible for "
    "mostDevelopers,asftp-masterisrestricted;itisscannedevery15minutesbythe dak process-uploadscript,which "
    "verifies the integrity of the uploaded packages and their cryptographic signatures."
)
LENGTH = "Your key length must be greater than 2048 bits (4096 bits is preferred); there is no smaller one."
SHOW = "You show this by submitting patches through the Bug Tracking System for a while."
REASON = "If there is no real reason for a new key, the Keyring Maintainers might reject the new key."
SPONSORS = "Debian Developers can sponsor packages. Debian Maintainers can't."
GRANT = (
    "After a Debian Maintainer's key has been added to the debian-maintainers keyring, a Debian Developer "
    "may grant upload permissions to the DM for specific packages by uploading a signed dak command."
)
HEADS = (
    "It occurs because only the heads and the merge base are considered when performing a merge, not the "
    "individual commits."
)
STYLE = (
    "The default format does not show what the original said in the conflicting area. You cannot tell how "
    "many lines are deleted. An alternative style can be used by setting the merge.conflictStyle variable to "
    "either diff3 or zdiff3."
)
EXEC = (
    "--exec <cmd>\nAppend exec <cmd> after each line creating a commit in the final history.\n\nAny command "
    "that fails will interrupt the rebase, with exit code 1."
)
REFS = (
    "--update-refs\n--no-update-refs\nAutomatically force-update any branches that point to commits that are "
    "being rebased."
)
DIGEST = (
    "The comparisons are done by calculating the MD5 message digests of the files, and storing the MD5 of "
    "the file as it was included in the most recent version of the package."
)
PROPOSED = "Garbee proposed it in May of 1998."
STAGES = "Stage 2 is the version from HEAD, and stage 3 from MERGE_HEAD."
ALONE = "If neither the user nor the package maintainer has changed the file, it is left alone."
VOTED = "The scheme was adopted by vote on 2023-03-06 after a long discussion of the developers."
LEVEL = "The transaction isolation level cannot be changed after the first query of the transaction."


def verdict(claim: str, *passages: str, between: str = " Other things stand here. " * 80) -> str:
    """The verdict where the fact checker quotes the passages, which stand apart in one source."""
    stated = Claim(id="c1", text=claim, source_ids=["s1"])
    check = Check(claim_id="c1", verdict="verified", source_id="s1", quote=" […] ".join(reversed(passages)))
    return tied(stated, check, {"s1": between.join(passages)}).verdict


@pytest.mark.parametrize(
    ("claim", "passage"),
    [
        (
            "An upload consists of a signed .changes file, which describes the requested change to the"
            " archive, and the source and binary package files that it refers to.",
            EACH,
        ),
        ("They need to be signed with a key in one of the two keyrings.", KEYRINGS),
        (
            "The script dak process-upload scans that directory every 15 minutes and verifies the integrity"
            " of the packages and their cryptographic signatures.",
            GLUED,
        ),
        ("The key length must be greater than 2048 bits, and 4096 bits is preferred.", LENGTH),
        ("They show this by submitting patches through the Bug Tracking System for a while.", SHOW),
        ("Without a real reason the Keyring Maintainers might reject a new key.", REASON),
        ("They can't sponsor packages.", SPONSORS),
        ("Debian Maintainers can't sponsor packages.", SPONSORS),
        ("Debian Maintainers have the right for named packages, not for the archive as a whole.", GRANT),
        ("Debian Maintainer · The specific packages that a DD has granted · No", GRANT),
        ("dpkg stores the MD5 digest of the file as it was included in the most recent version.", DIGEST),
        ("The version from MERGE_HEAD is stage 3.", STAGES),
        ("Garbee proposed it in May 1998.", PROPOSED),
        ("Neither changed: the file is left alone.", ALONE),
        ("The scheme was adopted by vote in March 2023.", VOTED),
        ("The level must be set before the first query of the transaction.", LEVEL),
        ("A merge makes this comparison once, and considers only the two heads and their merge base.", HEADS),
    ],
)
def test_true_sentences_are_verified(claim: str, passage: str) -> None:
    assert verdict(claim, passage) == "verified"


@pytest.mark.parametrize(
    ("claim", "passage"),
    [
        ("The script dak process-upload scans that directory every 25 minutes.", GLUED),
        ("The script dak process-upload scans that directory every 15 hours.", GLUED),
        ("The key length must not be greater than 2048 bits, and 4096 bits is preferred.", LENGTH),
        ("The key length must be greater than 2048 bits, and 8192 bits is preferred.", LENGTH),
        ("They show this by submitting patches through the Mail Transfer System for a while.", SHOW),
        ("With a real reason the Keyring Maintainers might not reject a new key.", REASON),
        (
            "Debian Maintainers can sponsor packages in the three suites.",
            "They sponsor packages in two suites.",
        ),
        ("In a merge the individual commits are considered.", HEADS),
        ("The transaction isolation level cannot be changed before the first query.", LEVEL),
        ("Garbee proposed it in June 1998.", PROPOSED),
        ("dpkg stores the SHA256 digest of the file as it was included in the most recent version.", DIGEST),
        ("The scheme was adopted by vote in April 2023.", VOTED),
        ("The file is not left alone if neither has changed it.", ALONE),
    ],
)
def test_false_sentences_are_still_refused(claim: str, passage: str) -> None:
    assert verdict(claim, passage) == "unverified"


def test_a_claim_may_rest_on_two_passages_of_one_source() -> None:
    claim = (
        "Debian Developers can sponsor packages, and may grant a DM upload permissions for specific packages."
    )
    assert verdict(claim, GRANT, SPONSORS) == "verified"
    assert verdict(claim.replace("and may", "and within 9 days may"), GRANT, SPONSORS) == "unverified"


def test_a_claim_may_rest_on_two_sources_that_it_cites() -> None:
    claim = Claim(
        id="c1",
        text="Debian Maintainers can't sponsor packages; a DD may grant permissions for specific packages.",
        source_ids=["s1", "s2"],
    )
    check = Check(
        claim_id="c1",
        verdict="verified",
        source_id="s1",
        quote=SPONSORS,
        also=[FoundPassage(source_id="s2", quote=GRANT)],
    )
    checked = tied(claim, check, {"s1": SPONSORS, "s2": GRANT})
    assert (checked.verdict, checked.quote, checked.also[0].quote) == ("verified", SPONSORS, GRANT)
    alone = tied(claim.model_copy(update={"source_ids": ["s1"]}), check, {"s1": SPONSORS, "s2": GRANT})
    assert (alone.verdict, alone.reason) == ("unverified", "It is in s2, which is not cited.")
    invented = check.model_copy(update={"also": [FoundPassage(source_id="s2", quote="Nobody wrote this.")]})
    assert tied(claim, invented, {"s1": SPONSORS, "s2": GRANT}).verdict == "unverified"


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("In a merge, only the heads and the merge base are considered, not the individual commits.", HEADS),
        (
            "The default format does not show what the original said in the conflicting area; an alternative"
            " style can be used by setting merge.conflictStyle to either diff3 or zdiff3.",
            STYLE,
        ),
        (
            "In a rebase, --exec <cmd> appends a command after each commit, and any command that fails will"
            " interrupt the rebase.",
            EXEC,
        ),
        ("--update-refs automatically force-updates any branches that point to commits being rebased.", REFS),
    ],
)
def test_the_editors_true_sentences_are_found_without_a_fact_checker(claim: str, text: str) -> None:
    assert find_support(claim, text) is not None
    assert find_support(claim, f"{HEADS} Nothing of the rest stands here.") is None or text == HEADS


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        ("Suppose that A and B both edit a line of the first file. The most common result is a conflict.", 0),
        ("For example, the largest branch is twice as long. It is merged.", 0),
        ("Angenommen, der Zweig ist alt, half of the lines are gone.", 0),
        ("Suppose that 40 % of all merges fail. The most common reason is a conflict.", 2),
        ("Suppose that A edits a line, according to researchers. The rest is open.", 1),
        ("Suppose that A edits a line. [@s1]", 1),
        ("Suppose that A edits a line.\n\nThe most common result is a conflict.", 1),
    ],
)
def test_an_illustration_is_no_claim(text: str, claims: int) -> None:
    assert len(split_claims(text)) == claims
