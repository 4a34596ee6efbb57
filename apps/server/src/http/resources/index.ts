import type { Commands } from "../commands/index.js";
import type { Clock } from "../../request.js";
import type { Route } from "../route/index.js";
import { consumerGroupRoutes } from "./consumer-groups.js";
import { healthRoutes, type ReadinessFaults } from "./health.js";
import { metadataChangeRoutes } from "./metadata-changes.js";
import { nodeRoutes } from "./node.js";
import { partitionRoutes } from "./partitions.js";
import { personalAccessTokenRoutes } from "./personal-access-tokens.js";
import { signInRoutes, type SignInDeps } from "./sign-in.js";
import { streamRoutes } from "./streams.js";
import { topicRoutes } from "./topics.js";
import { userRoutes } from "./users.js";

export interface ResourceRoutesDeps {
  readonly runner: Commands;
  readonly signIn: SignInDeps;
  readonly readinessFaults: ReadinessFaults;
  readonly clock: Clock;
}

/** Every route but those of messages. */
export const resourceRoutes = ({ runner, signIn, readinessFaults, clock }: ResourceRoutesDeps): readonly Route[] => [
  ...healthRoutes(readinessFaults),
  ...signInRoutes(signIn),
  ...userRoutes(runner),
  ...personalAccessTokenRoutes(runner),
  ...streamRoutes(runner),
  ...topicRoutes(runner),
  ...partitionRoutes(runner),
  ...consumerGroupRoutes(runner),
  ...nodeRoutes(runner, clock),
  ...metadataChangeRoutes(runner),
];
