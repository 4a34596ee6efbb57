import { flag, list, object, text } from "../json/index.js";
import { json, publicRoute, raw, type Route } from "../route/index.js";

/** What keeps a node from being ready: words for who runs it. */
export type ReadinessFaults = () => readonly string[];

const pong = raw(200, "`pong`.", "text/plain; charset=utf-8");
const greeting = raw(200, "A line about the server.", "text/plain; charset=utf-8");
const alive = json(200, "The process lives.", object({ status: text() }));
const readinessShape = object({ ready: flag, reasons: list(text()) });
const ready = json(200, "The node serves.", readinessShape);
const unready = json(503, "The node does not serve yet, or no more, and why.", readinessShape, {
  "retry-after": "Seconds until it is worth to ask again.",
});

const tag = "Health";

/** Routes for who watches the process. They tell nothing about what it holds. */
export const healthRoutes = (faults: ReadinessFaults): readonly Route[] => [
  publicRoute({
    method: "GET",
    path: "/",
    tag,
    summary: "Greet",
    place: "here",
    answers: [greeting],
    serve: () => Promise.resolve(greeting.of("Iggy HTTP server")),
  }),
  publicRoute({
    method: "GET",
    path: "/ping",
    tag,
    summary: "Check that the server answers",
    place: "here",
    answers: [pong],
    serve: () => Promise.resolve(pong.of("pong")),
  }),
  publicRoute({
    method: "GET",
    path: "/healthz",
    tag,
    summary: "Check that the process lives",
    place: "here",
    answers: [alive],
    serve: () => Promise.resolve(alive.of({ status: "ok" })),
  }),
  publicRoute({
    method: "GET",
    path: "/readyz",
    tag,
    summary: "Check that the node serves",
    place: "here",
    answers: [ready, unready],
    serve: () => {
      const reasons = faults();
      return Promise.resolve(
        reasons.length === 0
          ? ready.of({ ready: true, reasons })
          : unready.of({ ready: false, reasons }, { "retry-after": "1" }),
      );
    },
  }),
];
