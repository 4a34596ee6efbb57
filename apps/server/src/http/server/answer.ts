import type { FastifyReply, FastifyRequest } from "fastify";
import { type IntegerForm, stringifyJson } from "../json/index.js";
import type { Outcome } from "../route/index.js";
import { sendPieces } from "./send-pieces.js";

/** Sends an outcome. */
export function answer(
  request: FastifyRequest,
  reply: FastifyReply,
  { status, headers, content }: Outcome,
): FastifyReply {
  reply.code(status);
  for (const name in headers) reply.header(name, headers[name]);
  // A connection of HTTP/2 has other means, and a field of this name would be an error. Fastify sets it, too.
  if (request.raw.httpVersionMajor !== 1) reply.removeHeader("connection");
  switch (content.kind) {
    case "none":
      return reply.send();
    case "json":
      // As bytes: Fastify would add a charset to the type of a text.
      reply.header("content-type", "application/json");
      return reply.send(Buffer.from(stringifyJson(content.value, integerForm(request.headers.accept))));
    case "pieces":
      reply.header("content-type", "application/json");
      return sendPieces(reply, content.text, integerForm(request.headers.accept));
    case "raw":
      reply.header("content-type", content.type);
      return reply.send(Buffer.from(content.bytes));
  }
}

/** `Accept: application/json; integers=string` is for readers that would round large integers. */
function integerForm(accept = ""): IntegerForm {
  const asksForText = accept.split(",").some((range) => {
    const [type, ...parameters] = range.split(";").map((part) => part.trim().toLowerCase());
    return type === "application/json" && parameters.includes("integers=string");
  });
  return asksForText ? "string" : "number";
}
