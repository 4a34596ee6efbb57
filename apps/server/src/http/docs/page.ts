import { type JsonObject, type JsonValue, type Shape, stringifyJson } from "../json/index.js";
import type { Route } from "../route/index.js";
import { permissionText } from "./open-api.js";

const STYLE = `
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h2 { margin-top: 2.5rem; } summary { cursor: pointer; padding: .3rem 0; }
code, pre { font: 13px/1.45 ui-monospace, monospace; } pre { overflow-x: auto; padding: .6rem; background: #8882; }
details > :not(summary) { margin-left: 1.2rem; } b { display: inline-block; min-width: 4.2rem; }
:root { color-scheme: light dark; }`;

/** The routes on one page for people, without scripts or anything from elsewhere. */
export function docsPage(routes: readonly Route[], version: string): string {
  const tags = [...new Set(routes.map(({ tag }) => tag))];
  const sections = tags.map((tag) => {
    const entries = routes.filter((route) => route.tag === tag).map(entry);
    return `<h2>${escaped(tag)}</h2>\n${entries.join("\n")}`;
  });
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Iggy HTTP API ${escaped(version)}</title><style>${STYLE}</style></head><body>
<h1>Iggy HTTP API</h1>
<p>Version ${escaped(version)}. The same for programs: <a href="/openapi.json">openapi.json</a>.</p>
<p>Sign in with <code>POST /users/login</code> and send <code>Authorization: Bearer</code> and the token, or a personal
access token. Integers of 64 and 128 bits are JSON numbers with all their digits; with
<code>Accept: application/json; integers=string</code> they are texts. Timestamps and durations are microseconds.</p>
${sections.join("\n")}
</body></html>
`;
}

function entry(route: Route): string {
  const notes = [route.description, permissionText(route.access)].filter((text) => text !== undefined).join(" ");
  return `<details><summary><b>${route.method}</b> <code>${escaped(route.path)}</code> ${escaped(route.summary)}</summary>
${notes === "" ? "" : `<p>${escaped(notes)}</p>`}${part("Query", route.query)}${part("Body", route.body)}
${route.answers.map(answerText).join("\n")}</details>`;
}

const part = (name: string, shape: Shape<unknown> | undefined): string =>
  shape === undefined ? "" : `<p>${name}</p>${schemaText(shape.schema)}`;

const answerText = ({ status, description, content }: Route["answers"][number]): string =>
  `<p>${status}: ${escaped(description)}</p>${content === undefined ? "" : schemaText(content.schema)}`;

const schemaText = (schema: JsonObject): string => `<pre>${escaped(indented(schema, ""))}</pre>`;

/** A schema with a line for each member. */
function indented(value: JsonValue | undefined, indent: string): string {
  if (typeof value !== "object" || value === null) return value === undefined ? "" : stringifyJson(value);
  const deeper = `${indent}  `;
  const lines = Array.isArray(value)
    ? value.map((item: JsonValue) => deeper + indented(item, deeper))
    : Object.entries(value).map(([name, member]) => `${deeper}${name}: ${indented(member as JsonValue, deeper)}`);
  return `\n${lines.join("\n")}`;
}

const escaped = (text: string): string => text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
