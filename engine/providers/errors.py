"""Classifies the errors of all providers: temporary, specific to one request, or fatal for the batch.

It reads error bodies in many formats: objects of OpenAI and Anthropic, FastAPI's details, plain text, and HTML pages of a
proxy. It relies on no particular shape.
"""

import html
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tidepool.engine.providers.endpoint import Endpoint, display_host, scrub_keys
from tidepool.engine.providers.protocol import ErrorClass, NoReply, ProviderError
from tidepool.engine.providers.rate_headers import retry_after

NESTED = ("error", "errors", "detail", "fault", "message")
"""keys under which an error may be nested as an object or a list"""
WORDS = ("message", "Message", "msg", "error_description", "detail", "faultstring", "error", "title")
STATUSES = ("code", "status", "status_code")
DEEPEST = 6
MOST_READ = 20_000
"""characters of a page that are read"""
_TITLE = re.compile(r"<(title|h1|message)\b[^>]*>(.*?)</\1>", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(r"<[^>]*>")


class ErrorBody(NamedTuple):
    """The parts of an error body; each may be missing."""

    words: str = ""
    code: str = ""
    param: str = ""
    """the affected setting, as a path such as messages.0.role"""
    status: int | None = None
    """the status inside the body: a response with status 200 may contain another one"""


def error_in(content: bytes | str) -> ErrorBody:
    """Reads the body of an error response."""
    text = content.decode("utf-8", "replace") if isinstance(content, bytes) else content
    try:
        return read_error(json.loads(text))
    except ValueError:
        return ErrorBody(_plain(text))
    except RecursionError:
        return ErrorBody()


def read_error(body: object, depth: int = 0) -> ErrorBody:
    """Reads a parsed error."""
    if isinstance(body, str):
        return ErrorBody(_plain(body))
    if isinstance(body, list):
        found = (read_error(entry, depth + 1) for entry in body[:5] if depth < DEEPEST)
        return next((error for error in found if error.words), ErrorBody())
    if not isinstance(body, Mapping):
        return ErrorBody()
    nested = (body[key] for key in NESTED if depth < DEEPEST and isinstance(body.get(key), (Mapping, list)))
    inner = next((error for entry in nested if (error := read_error(entry, depth + 1)).words), ErrorBody())
    texts = (_plain(body[key]) for key in WORDS if isinstance(body.get(key), str))
    words = inner.words or next(filter(None, texts), "")
    metadata, loc = body.get("metadata"), body.get("loc")
    if words and isinstance(metadata, Mapping) and isinstance(metadata.get("raw"), str):
        words = f"{words}: {_plain(metadata['raw'])}"  # a relay repeats the message of the server behind it
    if isinstance(loc, list):  # FastAPI names the setting as a path in the body
        place = ".".join(str(part) for part in loc if isinstance(part, (str, int)) and part not in ("body", "query"))
        words = f"{place}: {words}" if place else words
    else:
        place = ""
    return ErrorBody(
        words=words,
        code=inner.code or _code(body),
        param=inner.param or place or _name(body.get("param")),
        status=inner.status or next((status for key in STATUSES if (status := _status(body.get(key)))), None),
    )


def _code(body: Mapping[str, Any]) -> str:
    details = body.get("details")
    error_code = details.get("error_code") if isinstance(details, Mapping) else None
    names = map(_name, (error_code, body.get("code"), body.get("type"), body.get("status")))
    return next((name for name in names if name and not name.isdigit()), "")


def _name(value: object) -> str:
    return value[:200] if isinstance(value, str) and value != "None" else ""


def _status(value: object) -> int | None:
    text = str(value)
    return int(text) if re.fullmatch(r"[45]\d\d", text, re.ASCII) else None


def _plain(text: str) -> str:
    """Text on one line; for an HTML page only its title."""
    text = text[:MOST_READ].strip()
    if text.startswith("<"):
        titled = _TITLE.search(text)
        text = html.unescape(_TAG.sub(" ", titled[2] if titled else text))[:200]
    return " ".join(text.split())


SPENT = {"insufficient_quota", "enforced_spend_limit_reached", "billing_hard_limit_reached", "billing_not_active"}
"""codes of errors that a retry cannot fix: the account's credit or limit is used up"""
HEALING = {408, 409, 425}
REJECTED = "not let in"
"""our own code for a response that was rejected unread"""
_STATUS_NAMED = {
    **dict.fromkeys(("invalid_request_error", "context_length_exceeded", "INVALID_ARGUMENT"), 400),
    **dict.fromkeys(("authentication_error", "invalid_api_key", "UNAUTHENTICATED"), 401),
    **dict.fromkeys(("permission_error", "PERMISSION_DENIED"), 403),
    **dict.fromkeys(("not_found_error", "model_not_found", "NOT_FOUND"), 404),
    **dict.fromkeys(("rate_limit_error", "rate_limit_exceeded", "RESOURCE_EXHAUSTED", *SPENT), 429),
    **dict.fromkeys(("overloaded_error", "UNAVAILABLE"), 503),
}
"""the statuses that correspond to error codes in responses with status 200"""
_UNKNOWN_MODEL = re.compile(
    r"not a valid model|model identifier is invalid|(unknown|no such) model\b|invalid model (id|name)\b"
    r"|\bmodel\b.{0,80}\b(does not exist|not found)",
    re.IGNORECASE,
)
_WRONG_KEY = re.compile(r"api key not valid|(invalid|incorrect) (api|subscription) key", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ProviderComplaint:
    """An error as the provider reported it."""

    status: int | None
    """None: there was no response"""
    code: str = ""
    words: str = ""
    param: str = ""
    """the affected setting"""
    headers: Mapping[str, str] = field(default_factory=dict)
    no_reply: NoReply | None = None
    """the type of a missing response"""


def complaint_about(status: int | None, body: ErrorBody, headers: Mapping[str, str] | None = None) -> ProviderComplaint:
    """An error by its status and its body. If a response looks successful, the status inside the body counts."""
    if status is not None and status < 400:
        status = body.status or _STATUS_NAMED.get(body.code, status)
    words = body.words or f"Error code: {status}"
    return ProviderComplaint(status, body.code, words, body.param, headers or {})


def fault_of(complaint: ProviderComplaint) -> ErrorClass:
    status, code = complaint.status, complaint.code
    if code == REJECTED:
        return ErrorClass.CLIENT
    if status is None or status < 400 or status >= 500 or status in HEALING:
        return ErrorClass.TRANSIENT
    if code in SPENT or status == 402 or "credit balance is too low" in complaint.words:
        return ErrorClass.FATAL
    if status == 429:
        return ErrorClass.RATE_LIMITED
    if status in (401, 403, 404) or is_unknown_model(complaint) or _is_wrong_key(complaint):
        return ErrorClass.FATAL
    return ErrorClass.CLIENT


def diagnose(complaint: ProviderComplaint, endpoint: Endpoint, where: str) -> ProviderError:
    """The error with the provider's message, and with advice if it stops the batch."""
    fault = fault_of(complaint)
    host, reason = f"{endpoint.title} at {display_host(where)}", scrub_keys(_short(complaint.words))
    name = host if endpoint.like == "ollama" else endpoint.title
    if complaint.status is None:
        text = f"{host} did not answer: {reason}"
    elif complaint.code == REJECTED:
        text = f"{host} answered with {reason}."
    elif complaint.status < 400:
        text = f"{name} answered with an error: {reason}"
    elif fault is ErrorClass.FATAL:
        text = f"{name} rejects all requests: {_sentence(reason)} {_advice(complaint, endpoint)}"
    else:
        text = f"{name} answered {complaint.status}: {reason}"
    return ProviderError(fault, text, retry_after(complaint.headers), complaint.no_reply)


def missing_key(endpoint: Endpoint) -> ProviderError:
    variable = endpoint.key_variable
    return ProviderError(
        ErrorClass.FATAL,
        f"There is no key for {endpoint.title}: the environment variable {variable} is not set. Set it and run again "
        f"(a local server without keys accepts any value, such as {variable}=none), or choose models of another provider.",
    )


def is_unknown_model(complaint: ProviderComplaint) -> bool:
    if complaint.status == 404:
        return complaint.code == "model_not_found" or "model" in complaint.words.lower()
    return complaint.status == 400 and (
        complaint.code == "model_not_found" or _UNKNOWN_MODEL.search(complaint.words) is not None
    )


def _is_wrong_key(complaint: ProviderComplaint) -> bool:
    """Some providers answer with status 400."""
    return complaint.status == 400 and (
        complaint.code == "invalid_api_key" or _WRONG_KEY.search(complaint.words) is not None
    )


def _advice(complaint: ProviderComplaint, endpoint: Endpoint) -> str:
    variable = endpoint.key_variable
    match complaint.status:
        case 401 if not variable:
            return (
                f'It needs a key. Name its variable in [providers.{endpoint.name}] with api_key_env = "…", then resume.'
            )
        case 400 | 401 if complaint.status == 401 or _is_wrong_key(complaint):
            return f"Check the key in {variable}, then resume."
        case 403:
            return "The key has no access to this. Check its permissions and region, then resume."
        case 400 | 404 if complaint.status == 404 or is_unknown_model(complaint):
            return "Check the model's name (`tidepool models`) and base_url."
    return "Raise the account's spend limit or add credit, then resume. All replies so far are stored."


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _short(value: Any, limit: int = 600) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= limit else text[: limit - 1] + "…"
