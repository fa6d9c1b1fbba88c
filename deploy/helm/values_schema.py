# SPDX-License-Identifier: Apache-2.0
"""Completes a chart's values.schema.json with the components."""

import json


def with_components(text, values):
    """The schema `text` with a property for each value of `components`."""
    schema = json.loads(text)
    components = {value.name.removeprefix("components."): value for value in values
                  if value.name.startswith("components.")}
    schema["properties"]["components"]["properties"] = {
        name: {"type": "boolean", "description": value.description, "default": value.default}
        for name, value in sorted(components.items())}
    return json.dumps(schema, indent=2)
