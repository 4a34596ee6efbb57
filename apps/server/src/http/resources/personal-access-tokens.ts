import {
  createPersonalAccessToken,
  deletePersonalAccessToken,
  ErrorCode,
  getPersonalAccessTokens,
  textLimits,
} from "@iggy/protocol";
import type { Commands } from "../commands/index.js";
import { list, nullable, object, type Shape, ShapeError, text, u64 } from "../json/index.js";
import { anyCredential, empty, json, route, type Route } from "../route/index.js";

const tokenShape = object({ name: text(), expiry_at: nullable(u64) });

const name = text({ ...textLimits.personalAccessTokenName, code: ErrorCode.InvalidPersonalAccessTokenName });

/** A token name in a path. */
const nameText: Shape<string> = {
  schema: { type: "string" },
  read: (json) => {
    if (typeof json !== "string" || json === "") throw new ShapeError("is missing");
    return json;
  },
};

const listed = json(200, "The tokens of whoever asks, by name.", list(tokenShape));
const created = json(200, "The text of the token, which is shown this once.", object({ token: text() }));
const done = empty(204, "Done.");

const tag = "Personal access tokens";
const path = "/personal-access-tokens";

export const personalAccessTokenRoutes = (runner: Commands): readonly Route[] => [
  route({
    method: "GET",
    path,
    tag,
    summary: "List one's own tokens",
    access: anyCredential,
    place: "consistency",
    answers: [listed],
    serve: async ({ caller }) => {
      const { tokens } = await runner.run(caller, getPersonalAccessTokens, {});
      const byName = [...tokens].sort((left, right) => (left.name < right.name ? -1 : 1));
      return listed.of(
        byName.map(({ name: tokenName, expiryAt }) => ({
          name: tokenName,
          expiry_at: expiryAt === 0n ? null : expiryAt,
        })),
      );
    },
  }),
  route({
    method: "POST",
    path,
    tag,
    summary: "Create a token",
    description: "`expiry` is microseconds from now; 0 and the largest u64 mean never.",
    access: anyCredential,
    place: "primary",
    body: object({ name, expiry: u64 }),
    answers: [created],
    serve: async ({ caller, body }) => created.of(await runner.run(caller, createPersonalAccessToken, body)),
  }),
  route({
    method: "DELETE",
    path: `${path}/{name}`,
    tag,
    summary: "Delete a token",
    access: anyCredential,
    place: "primary",
    params: object({ name: nameText }),
    answers: [done],
    serve: async ({ caller, params }) => {
      await runner.run(caller, deletePersonalAccessToken, params);
      return done.of();
    },
  }),
];
