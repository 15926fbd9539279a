"""Errors as servers of many houses word them: what each comes to, what must be told, and which setting it is about.

Bodies that are no text are sent as JSON.
"""

from typing import NamedTuple

from tidepool.engine.providers.protocol import ErrorClass

HEALS, REFUSED, OURS, SYSTEMIC = ErrorClass.TRANSIENT, ErrorClass.RATE_LIMITED, ErrorClass.CLIENT, ErrorClass.FATAL


class Case(NamedTuple):
    status: int
    body: object
    fault: ErrorClass
    words: str = ""
    """must be told"""
    param: str = ""
    """the setting that it is about, as a path"""


def _openai(message: str, kind: str = "invalid_request_error", param: str | None = None, code: object = None) -> object:
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def _detail(msg: str, *loc: object, kind: str = "value_error") -> object:
    return {"detail": [{"type": kind, "loc": list(loc), "msg": msg, "input": 1}]}


def _page(title: str, more: str = "") -> str:
    style = "<style>body { margin: 0; color: #333 }</style><script>var a = '<b>';</script>"
    return (
        f"<!DOCTYPE html>\n<html><head><title>{title}</title>{style}</head><body><h1>{title}</h1>{more}</body></html>"
    )


CASES = [
    # OpenAI and Azure
    Case(
        400,
        _openai("Unsupported parameter: 'seed'", param="seed", code="unsupported_parameter"),
        OURS,
        "'seed'",
        "seed",
    ),
    Case(
        400, _openai("Invalid schema for response_format", param="response_format"), OURS, "Invalid", "response_format"
    ),
    Case(400, _openai("Invalid 'messages[0].role'", param="messages[0].role"), OURS, "role", "messages[0].role"),
    Case(
        400,
        _openai("This model's maximum context length is 128000 tokens", code="context_length_exceeded"),
        OURS,
        "maximum",
    ),
    Case(409, _openai("The object is being changed", code="conflict"), HEALS, "being changed"),
    Case(401, _openai("Incorrect API key provided", code="invalid_api_key"), SYSTEMIC, "Incorrect API key"),
    Case(403, _openai("Country not supported", code="unsupported_country_region_territory"), SYSTEMIC, "Country"),
    Case(404, _openai("The model `x` does not exist", code="model_not_found"), SYSTEMIC, "does not exist"),
    Case(429, _openai("Rate limit reached", "requests", code="rate_limit_exceeded"), REFUSED, "Rate limit"),
    Case(429, _openai("You exceeded your current quota", code="insufficient_quota"), SYSTEMIC, "quota"),
    Case(500, _openai("The server had an error", "server_error"), HEALS, "had an error"),
    Case(503, _openai("The engine is overloaded", "server_error"), HEALS, "overloaded"),
    Case(
        401, {"statusCode": 401, "message": "Access denied due to invalid subscription key."}, SYSTEMIC, "Access denied"
    ),
    Case(429, {"statusCode": 429, "message": "Rate limit is exceeded. Try again in 7 seconds."}, REFUSED, "7 seconds"),
    Case(
        404,
        {"error": {"code": "DeploymentNotFound", "message": "The API deployment does not exist."}},
        SYSTEMIC,
        "deployment",
    ),
    Case(
        400,
        {
            "error": {
                "message": "The response was filtered",
                "code": "content_filter",
                "status": 400,
                "innererror": {"code": "R"},
            }
        },
        OURS,
        "filtered",
    ),
    Case(408, {"error": {"code": "Timeout", "message": "The operation was timeout."}}, HEALS, "timeout"),
    # Anthropic
    Case(
        400,
        {"type": "error", "error": {"type": "invalid_request_error", "message": "temperature: no"}},
        OURS,
        "temperature",
    ),
    Case(529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, HEALS, "Overloaded"),
    Case(429, {"type": "error", "error": {"type": "rate_limit_error", "message": "wait"}}, REFUSED, "wait"),
    Case(
        400,
        {
            "type": "error",
            "error": {"type": "invalid_request_error", "message": "Your credit balance is too low to go on"},
        },
        SYSTEMIC,
        "credit balance",
    ),
    Case(
        429,
        {"error": {"type": "x", "message": "limit", "details": {"error_code": "enforced_spend_limit_reached"}}},
        SYSTEMIC,
        "limit",
    ),
    Case(413, {"type": "error", "error": {"type": "request_too_large", "message": "Request exceeds"}}, OURS, "exceeds"),
    Case(
        404, {"type": "error", "error": {"type": "not_found_error", "message": "model: claude-x"}}, SYSTEMIC, "claude-x"
    ),
    # FastAPI: vLLM, TGI's router, OGX, many of one's own
    Case(
        422,
        _detail("Extra inputs are not permitted", "body", "seed", kind="extra_forbidden"),
        OURS,
        "Extra inputs",
        "seed",
    ),
    Case(422, _detail("Input should be less than 2", "body", "temperature"), OURS, "less than 2", "temperature"),
    Case(
        422, _detail("Field required", "body", "messages", 0, "content"), OURS, "Field required", "messages.0.content"
    ),
    Case(
        422, _detail("extra fields not permitted", "body", "reasoning_effort"), OURS, "extra fields", "reasoning_effort"
    ),
    Case(422, _detail("value is not a valid dict", "body"), OURS, "valid dict", ""),
    Case(
        422,
        {"detail": [{"msg": "first", "loc": ["body", "a"]}, {"msg": "second", "loc": ["body", "b"]}]},
        OURS,
        "second",
        "a",
    ),
    Case(422, {"detail": [{"msg": "only words"}]}, OURS, "only words"),
    Case(422, {"detail": ["plain words in a list"]}, OURS, "plain words"),
    Case(422, {"detail": []}, OURS),
    Case(400, {"detail": "max_completion_tokens is not supported"}, OURS, "max_completion_tokens"),
    Case(401, {"detail": "Not authenticated"}, SYSTEMIC, "Not authenticated"),
    Case(403, {"detail": "Forbidden"}, SYSTEMIC, "Forbidden"),
    Case(404, {"detail": "Not Found"}, SYSTEMIC, "Not Found"),
    Case(405, {"detail": "Method Not Allowed"}, OURS, "Method"),
    Case(429, {"detail": "Too many requests"}, REFUSED, "Too many"),
    Case(500, {"detail": "Internal Server Error"}, HEALS, "Internal"),
    Case(503, {"detail": "Model is loading"}, HEALS, "loading"),
    Case(400, {"detail": {"error": {"message": "deep words", "param": "seed"}}}, OURS, "deep words", "seed"),
    Case(400, {"detail": {"message": "words", "code": "no_model"}}, OURS, "words"),
    Case(400, {"detail": None, "message": "beside it"}, OURS, "beside it"),
    Case(422, _detail("Input should be 'user'", "body", "messages", 0, "role"), OURS, "'user'", "messages.0.role"),
    Case(
        400,
        {
            "object": "error",
            "message": "seed must be less than 1",
            "type": "BadRequestError",
            "param": "seed",
            "code": 400,
        },
        OURS,
        "seed must",
        "seed",
    ),
    Case(
        404,
        {
            "object": "error",
            "message": "The model `x` does not exist.",
            "type": "NotFoundError",
            "param": None,
            "code": 404,
        },
        SYSTEMIC,
        "`x`",
    ),
    Case(
        400,
        {
            "object": "error",
            "message": [{"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "not permitted"}],
            "code": 400,
        },
        OURS,
        "not permitted",
        "seed",
    ),
    Case(
        400,
        {"object": "error", "message": {"detail": [{"msg": "nested", "loc": ["body", "seed"]}]}},
        OURS,
        "nested",
        "seed",
    ),
    Case(424, {"error": "Request failed during generation", "error_type": "generation"}, OURS, "during generation"),
    Case(
        422,
        {"error": "Input validation error: `max_new_tokens` must be > 0", "error_type": "validation"},
        OURS,
        "max_new_tokens",
    ),
    Case(429, {"error": "Model is overloaded", "error_type": "overloaded"}, REFUSED, "overloaded"),
    # llama.cpp, LM Studio, Ollama's compatible side, LiteLLM, OpenRouter
    Case(503, {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}}, HEALS, "Loading"),
    Case(
        400,
        {
            "error": {
                "code": 400,
                "message": "the request exceeds the available context size",
                "type": "exceed_context_size_error",
                "n_ctx": 4096,
            }
        },
        OURS,
        "context size",
    ),
    Case(
        501,
        {"error": {"code": 501, "message": "This server does not support embeddings.", "type": "not_supported_error"}},
        HEALS,
        "embeddings",
    ),
    Case(
        404,
        {"error": {"code": 404, "message": "File Not Found", "type": "not_found_error"}},
        SYSTEMIC,
        "File Not Found",
    ),
    Case(400, {"error": "Only user and assistant roles are supported!"}, OURS, "Only user"),
    Case(400, {"error": "'response_format.type' must be 'json_schema'"}, OURS, "json_schema"),
    Case(404, {"error": 'model "x" not found, try pulling it first'}, SYSTEMIC, "pulling"),
    Case(
        400,
        {
            "error": {
                "message": "litellm.UnsupportedParamsError: x does not support parameters: ['seed']",
                "type": "None",
                "param": "None",
                "code": "400",
            }
        },
        OURS,
        "UnsupportedParams",
        "",
    ),
    Case(
        429,
        {
            "error": {
                "message": "litellm.RateLimitError: slow",
                "type": "throttling_error",
                "param": None,
                "code": "429",
            }
        },
        REFUSED,
        "RateLimitError",
    ),
    Case(
        400,
        {
            "error": {
                "message": "litellm.BadRequestError",
                "param": None,
                "code": "400",
                "provider_specific_fields": None,
            }
        },
        OURS,
        "BadRequest",
    ),
    Case(402, {"error": {"message": "Insufficient credits", "code": 402}}, SYSTEMIC, "credits"),
    Case(
        400,
        {"error": {"message": "nope/x is not a valid model ID", "code": 400}, "user_id": "u"},
        SYSTEMIC,
        "valid model ID",
    ),
    Case(
        502,
        {
            "error": {
                "message": "Provider returned error",
                "code": 502,
                "metadata": {"raw": "oops", "provider_name": "X"},
            }
        },
        HEALS,
        "Provider returned",
    ),
    Case(
        400,
        {
            "error": {
                "message": "Provider returned error",
                "code": 400,
                "metadata": {"raw": '{"error":{"message":"seed is not allowed"}}'},
            }
        },
        OURS,
        "seed is not allowed",
    ),
    Case(
        403,
        {"error": {"message": "Input flagged", "code": 403, "metadata": {"reasons": ["hate"]}}},
        SYSTEMIC,
        "flagged",
    ),
    # Google's compatible side answers with a list
    Case(
        400,
        [
            {
                "error": {
                    "code": 400,
                    "message": "API key not valid. Please pass a valid API key.",
                    "status": "INVALID_ARGUMENT",
                }
            }
        ],
        SYSTEMIC,
        "API key not valid",
    ),
    Case(
        429,
        [{"error": {"code": 429, "message": "Resource has been exhausted", "status": "RESOURCE_EXHAUSTED"}}],
        REFUSED,
        "exhausted",
    ),
    Case(
        400,
        [
            {
                "error": {
                    "code": 400,
                    "message": 'Unknown name "seed": Cannot find field.',
                    "status": "INVALID_ARGUMENT",
                    "details": [{"fieldViolations": []}],
                }
            }
        ],
        OURS,
        "Unknown name",
    ),
    Case(
        503,
        [{"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}],
        HEALS,
        "overloaded",
    ),
    Case(
        404,
        [{"error": {"code": 404, "message": "models/x is not found for API version", "status": "NOT_FOUND"}}],
        SYSTEMIC,
        "models/x",
    ),
    Case(
        403,
        {"error": {"code": 403, "message": "Permission denied", "status": "PERMISSION_DENIED", "details": []}},
        SYSTEMIC,
        "Permission",
    ),
    # Mistral, Cohere, DeepSeek, Together, Groq, Bedrock, gateways
    Case(
        422,
        {
            "object": "error",
            "message": {
                "detail": [
                    {"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}
                ]
            },
            "type": "invalid_request_error",
        },
        OURS,
        "Extra inputs",
        "seed",
    ),
    Case(401, {"message": "Unauthorized", "request_id": "r"}, SYSTEMIC, "Unauthorized"),
    Case(429, {"message": "Requests rate limit exceeded"}, REFUSED, "rate limit"),
    Case(400, {"message": "invalid request: model 'x' not found", "id": "1"}, SYSTEMIC, "not found"),
    Case(400, {"message": "at least one message"}, OURS, "at least one"),
    Case(
        402,
        {"error": {"message": "Insufficient Balance", "type": "unknown_error", "code": "invalid_request_error"}},
        SYSTEMIC,
        "Balance",
    ),
    Case(
        400,
        {"error": {"message": "property 'logit_bias' is unsupported", "type": "invalid_request_error"}},
        OURS,
        "logit_bias",
    ),
    Case(
        413,
        {"error": {"message": "Request too large for model", "type": "tokens", "code": "rate_limit_exceeded"}},
        OURS,
        "too large",
    ),
    Case(
        400,
        {"message": "The provided model identifier is invalid.", "__type": "ValidationException"},
        SYSTEMIC,
        "identifier",
    ),
    Case(429, {"message": None, "__type": "ThrottlingException"}, REFUSED, "Throttling"),
    Case(400, {"Message": "capital words"}, OURS, "capital words"),
    Case(400, {"errors": [{"message": "first of errors", "code": "E1"}]}, OURS, "first of errors"),
    Case(500, {"errors": ["text in errors"]}, HEALS, "text in errors"),
    Case(
        401,
        {"fault": {"faultstring": "Invalid ApiKey", "detail": {"errorcode": "oauth.v2.InvalidApiKey"}}},
        SYSTEMIC,
        "Invalid ApiKey",
    ),
    Case(
        403,
        {"type": "about:blank", "title": "Forbidden", "status": 403, "detail": "No right to this"},
        SYSTEMIC,
        "No right",
    ),
    Case(429, {"type": "about:blank", "title": "Too Many Requests", "status": 429}, REFUSED, "Too Many"),
    Case(400, {"error": "invalid_request", "error_description": "what is wrong with it"}, OURS, "what is wrong"),
    Case(401, {"error": "unauthorized", "message": "Token has ended"}, SYSTEMIC, "Token has ended"),
    Case(
        500,
        {"timestamp": "2026", "status": 500, "error": "Internal Server Error", "path": "/v1"},
        HEALS,
        "Internal Server Error",
    ),
    Case(400, {"success": False, "errors": [{"code": 7009, "message": "Upstream"}], "messages": []}, OURS, "Upstream"),
    Case(400, {"code": 400, "msg": "short form", "data": None}, OURS, "short form"),
    Case(400, {"reason": "only a reason"}, OURS, "only a reason"),
    Case(400, {"error": {"reason": "inner reason"}}, OURS, "inner reason"),
    Case(400, {"error": {"error": {"message": "twice wrapped"}}}, OURS, "twice wrapped"),
    Case(400, {"error": ["a", "list"]}, OURS, "a"),
    Case(400, '{"error": "{\\"message\\": \\"words in words\\"}"}', OURS, "words in words"),
    Case(400, '"a JSON string"', OURS, "a JSON string"),
    # no words at all
    Case(400, {}, OURS, "400"),
    Case(400, [], OURS, "400"),
    Case(500, "", HEALS, "500"),
    Case(500, "null", HEALS, "500"),
    Case(502, {"error": None}, HEALS, "502"),
    Case(400, {"error": {"message": ""}}, OURS, "400"),
    Case(400, {"error": {"message": None, "code": None}}, OURS, "400"),
    Case(400, {"error": 17}, OURS, "17"),
    Case(400, {"error": True}, OURS, "400"),
    Case(400, {"error": {"message": {"a": {"b": 1}}}}, OURS, "400"),
    Case(400, {"error": {"message": 12345}}, OURS, "12345"),
    Case(400, {"error": {"message": "x" * 100_000}}, OURS, "xxx"),
    Case(400, {"error": {"message": "w", "param": ["a"], "code": {"b": 1}, "type": 7}}, OURS, "w"),
    Case(400, {"detail": [{"loc": "body", "msg": 7}]}, OURS, "7"),
    Case(400, {"detail": [{"loc": ["body", None, {"a": 1}], "msg": "odd place"}]}, OURS, "odd place"),
    Case(400, {"detail": [None, 3, [["deep"]]]}, OURS, "deep"),
    Case(400, "[" * 200_000, OURS, "400"),
    Case(500, '{"error": NaN}', HEALS, "500"),
    # pages and plain words
    Case(502, _page("502 Bad Gateway", "<hr><center>nginx</center>"), HEALS, "502 Bad Gateway"),
    Case(504, _page("504 Gateway Time-out"), HEALS, "Gateway Time-out"),
    Case(403, _page("Attention Required! | Cloudflare", "<p>blocked</p>"), SYSTEMIC, "Attention Required"),
    Case(404, _page("404 Not Found"), SYSTEMIC, "404 Not Found"),
    Case(429, _page("Error 1015", "<p>You are being rate limited</p>"), REFUSED, "Error 1015"),
    Case(413, _page("413 Request Entity Too Large"), OURS, "Too Large"),
    Case(500, "<html><body><h1>It broke</h1><p>Sorry.</p></body></html>", HEALS, "It broke"),
    Case(
        503, "<?xml version='1.0'?><Error><Code>SlowDown</Code><Message>Reduce it</Message></Error>", HEALS, "Reduce it"
    ),
    Case(502, "upstream connect error or disconnect/reset before headers", HEALS, "upstream connect"),
    Case(429, "Too Many Requests", REFUSED, "Too Many"),
    Case(401, "Unauthorized", SYSTEMIC, "Unauthorized"),
    Case(500, "Internal Server Error", HEALS, "Internal"),
    Case(400, "Bad Request: cannot parse\n\nbody", OURS, "cannot parse body"),
    Case(503, "no healthy upstream", HEALS, "healthy"),
    Case(404, "404 page not found", SYSTEMIC, "page not found"),
    # an error in a reply that says all is well
    Case(200, {"error": {"message": "Provider returned error", "code": 502}}, HEALS, "Provider returned"),
    Case(200, {"error": {"message": "Rate limited upstream", "code": 429}}, REFUSED, "Rate limited"),
    Case(200, {"error": {"message": "slow", "code": "429"}, "choices": None}, REFUSED, "slow"),
    Case(200, {"error": {"message": "bad seed", "code": 400, "param": "seed"}}, OURS, "bad seed", "seed"),
    Case(200, {"error": {"message": "No credits", "code": 402}, "choices": []}, SYSTEMIC, "No credits"),
    Case(200, {"error": {"message": "who knows"}}, HEALS, "who knows"),
    Case(200, {"error": "text alone", "choices": None}, HEALS, "text alone"),
    Case(200, {"error": "text alone"}, HEALS, "text alone"),
    Case(200, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, HEALS, "Overloaded"),
    Case(200, {"error": {"type": "rate_limit_error", "message": "wait a little"}}, REFUSED, "wait a little"),
    Case(200, {"error": {"type": "authentication_error", "message": "no such key"}}, SYSTEMIC, "no such key"),
    Case(200, {"error": {"type": "invalid_request_error", "message": "not like this"}}, OURS, "not like this"),
    Case(200, {"error": {"code": "context_length_exceeded", "message": "too long"}}, OURS, "too long"),
    Case(200, {"error": {"code": "insufficient_quota", "message": "spent"}}, SYSTEMIC, "spent"),
    Case(200, {"detail": "the worker has died"}, HEALS, "worker has died"),
    Case(200, {"message": "backend timeout", "status": 504}, HEALS, "backend timeout"),
    Case(200, {"statusCode": 429, "message": "later"}, REFUSED, "later"),
    Case(200, [{"error": {"code": 503, "message": "in a list"}}], HEALS, "in a list"),
    Case(200, {"error": {"message": "odd code", "code": 99999}}, HEALS, "odd code"),
    Case(200, {"error": {"message": "success code", "code": 200}}, HEALS, "success code"),
    Case(200, {"choices": None, "message": "nothing chosen"}, HEALS, "nothing chosen"),
]
