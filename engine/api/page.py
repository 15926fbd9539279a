"""The API's own page: what its OpenAPI document says, in plain HTML with nothing loaded from anywhere else."""

import json
from collections.abc import Mapping
from html import escape
from typing import Any

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "code,pre{font:14px/1.4 ui-monospace,monospace}pre{background:#8881;padding:.6rem;overflow:auto}"
    "h2{margin-top:2.2rem}h2 b{display:inline-block;min-width:5rem}table{border-collapse:collapse}"
    "td,th{text-align:left;padding:.15rem 1rem .15rem 0;vertical-align:top}:root{color-scheme:light dark}"
)


def page(document: Mapping[str, Any]) -> str:
    operations = [
        _operation(path, method, operation, document)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    info = document["info"]
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(info["title"])} API</title>'
        f"<style>{_STYLE}</style><h1>{escape(info['title'])} API</h1><p>{escape(info.get('summary', ''))} "
        'The same as <a href="/openapi.json">OpenAPI document</a>.</p>' + "".join(operations) + "</html>"
    )


def _operation(path: str, method: str, operation: Mapping[str, Any], document: Mapping[str, Any]) -> str:
    answers = "".join(
        f"<tr><td>{escape(code)}</td><td>{escape(answer['description'])}</td></tr>"
        for code, answer in operation["responses"].items()
    )
    parameters = "".join(_parameter(parameter) for parameter in operation.get("parameters", ()))
    return (
        f"<h2><b>{method.upper()}</b> <code>{escape(path)}</code></h2>"
        f"<p>{escape(operation.get('description', ''))}</p>"
        + (f"<table>{parameters}</table>" if parameters else "")
        + _body(operation, document)
        + f"<table>{answers}</table>"
    )


def _parameter(parameter: Mapping[str, Any]) -> str:
    schema = parameter["schema"]
    kind = " | ".join(map(str, schema["enum"])) if "enum" in schema else schema.get("type", "")
    default = f", default {schema['default']}" if "default" in schema else ""
    return f"<tr><td><code>{escape(parameter['name'])}</code></td><td>{escape(kind + default)}</td></tr>"


def _body(operation: Mapping[str, Any], document: Mapping[str, Any]) -> str:
    if "requestBody" not in operation:
        return ""
    name = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
    schema = document["components"]["schemas"][name]
    return f"<p>Body:</p><pre>{escape(json.dumps(schema, indent=1, ensure_ascii=False))}</pre>"
