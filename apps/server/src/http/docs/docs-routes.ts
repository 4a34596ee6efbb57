import type { JsonValue, Shape } from "../json/index.js";
import { json, publicRoute, raw, type Route } from "../route/index.js";
import { openApi } from "./open-api.js";
import { docsPage } from "./page.js";

const anything: Shape<JsonValue> = { schema: { type: "object" }, read: (value) => value ?? null };
const document = json(200, "The API in the words of OpenAPI 3.1.", anything);
const page = raw(200, "The API on a page.", "text/html; charset=utf-8");

/** Nothing on the page comes from elsewhere, so nothing may. */
const PAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'";

/** Routes that document the others. */
export function docsRoutes(routes: readonly Route[], version: string): readonly Route[] {
  const own: Route[] = [
    publicRoute({
      method: "GET",
      path: "/openapi.json",
      tag: "Documents",
      summary: "Read this API as an OpenAPI document",
      place: "here",
      answers: [document],
      serve: () => Promise.resolve(document.of(described)),
    }),
    publicRoute({
      method: "GET",
      path: "/docs",
      tag: "Documents",
      summary: "Read this API on a page",
      place: "here",
      answers: [page],
      serve: () => Promise.resolve(page.of(html, { "content-security-policy": PAGE_POLICY })),
    }),
  ];
  const described = openApi([...routes, ...own], version);
  const html = docsPage([...routes, ...own], version);
  return own;
}
