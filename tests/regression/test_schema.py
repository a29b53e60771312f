"""What `gridstride describe SIMULATION --schema` says holds for every config of this project."""

import json
import re

import support
from support import ROOT

try:
    import yaml
except ImportError:
    yaml = None

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool}


def is_of(value, name):
    if name in ("number", "integer"):
        return not isinstance(value, bool) and isinstance(value, (int, float) if name == "number" else int)
    return isinstance(value, TYPES[name])


def faults_of_text(schema, value):
    if len(value) < schema.get("minLength", 0):
        yield "is too short"
    if not re.search(schema.get("pattern", ""), value):
        yield f"{value!r} does not match {schema['pattern']}"


def faults_of_number(schema, value):
    if value < schema.get("minimum", value) or value > schema.get("maximum", value) or (
            value <= schema.get("exclusiveMinimum", value - 1)):
        yield f"{value} is out of bounds"


def faults_of_list(schema, value):
    if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
        yield f"has {len(value)} items"
    if schema.get("uniqueItems") and len({json.dumps(item) for item in value}) < len(value):
        yield "has items twice"
    for i, item in enumerate(value):
        yield from (f"{i}: {fault}" for fault in faults_of(schema.get("items", {}), item))


def faults_of_mapping(schema, value):
    if len(value) < schema.get("minProperties", 0):
        yield "is empty"
    for key in schema.get("required", []):
        if key not in value:
            yield f"{key} is missing"
    others = schema.get("additionalProperties", {})
    for key, item in value.items():
        known = schema.get("properties", {}).get(key, others)
        if known is False:
            yield f"{key} is unknown"
            continue
        yield from (f"{key}: {fault}" for fault in faults_of(known, item))
        yield from faults_of(schema.get("propertyNames", {}), key)


KINDS = {str: faults_of_text, int: faults_of_number, float: faults_of_number, list: faults_of_list,
         dict: faults_of_mapping}


def faults_of(schema, value):
    """Why a JSON Schema does not take a value, as far as it uses what those of gridstride do."""
    unknown = set(schema) - {
        "$schema", "title", "description", "default", "type", "enum", "const", "pattern", "minLength", "minimum",
        "maximum", "exclusiveMinimum", "items", "minItems", "maxItems", "uniqueItems", "properties", "required",
        "additionalProperties", "propertyNames", "minProperties", "anyOf"}
    if unknown:
        yield f"the schema has {unknown}, which this test does not know"
    names = schema.get("type", [])
    names = [names] if isinstance(names, str) else names
    if names and not any(is_of(value, name) for name in names):
        yield f"is no {' or '.join(names)}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{value!r} is none of {schema['enum']}"
    if "const" in schema and value != schema["const"]:
        yield f"{value!r} is not {schema['const']!r}"
    if "anyOf" in schema:
        found = [list(faults_of(one, value)) for one in schema["anyOf"]]
        if all(found):
            yield f"is nothing of these: {found}"
    yield from KINDS.get(type(value), lambda *_: ())(schema, value)


class Schema(support.Case):
    @support.unittest.skipUnless(yaml, "PyYAML is not installed")
    def test_takes_every_config(self):
        files = [*(ROOT / "inputs").rglob("*.yaml"), *(ROOT / "tests/regression/cases").glob("*.yaml")]
        schemas = {}
        for path in sorted(files):
            config = yaml.safe_load(path.read_text(encoding="utf-8"))
            name = config["simulation"]
            if name not in schemas:
                schemas[name] = json.loads(self.call("describe", name, "--schema")[0])
            with self.subTest(file=path.relative_to(ROOT)):
                self.assertEqual(list(faults_of(schemas[name], config)), [])

    def test_takes_exact_vectors(self):
        schema = json.loads(self.call("describe", "pde", "--schema")[0])["properties"]["verify"]
        for exact, holds in (({"q": {"y": "x-y+t"}, "p": 1}, True), ({"q": {"x": 1, "y": "t"}}, True),
                             ({"q": {}}, False), ({"q": {"a": 1}}, False), ({"q": ["x", "y"]}, False)):
            self.assertEqual(not list(faults_of(schema, {"exact": exact})), holds, exact)
        self.assertTrue(list(faults_of(json.loads(self.call("describe", "transform", "--schema")[0])[
            "properties"]["verify"], {"exact": {"q": {"y": "x"}}})))


if __name__ == "__main__":
    support.main()
