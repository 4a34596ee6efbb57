import {
  ErrorCode,
  IggyError,
  pollMessages,
  pollMessagesDeferred,
  type PollMessagesRequest,
  type PollReply,
} from "@iggy/protocol";
import type { Caller, CommandRunner } from "../commands/index.js";
import { type Method, needs, type Outcome, pieces, route, type Route } from "../route/index.js";
import { within } from "./deadline.js";
import { consumerOf, deferredPollQuery, pollQuery, type PollQuery, strategyOf, waitOf } from "./poll-query.js";
import { polledMessagesShape } from "./polled-shape.js";
import { polledMessagesText } from "./polled-text.js";
import type { ReplyBudget } from "./reply-budget.js";
import {
  fencesOf,
  findTopic,
  targetOf,
  TOPIC_PATH,
  type TopicDirectory,
  type TopicParams,
  topicParams,
} from "./topic-access.js";

/** How long a read that does not wait may take. */
const READ_MILLIS = 10_000;

export interface PollDeps {
  readonly directory: TopicDirectory;
  readonly runner: CommandRunner;
  readonly replies: ReplyBudget;
}

interface Target {
  readonly caller: Caller;
  readonly params: TopicParams;
  readonly query: PollQuery;
  readonly signal: AbortSignal;
}

const polled = pieces(200, "The messages, possibly none.", polledMessagesShape);

export const pollRoutes = (deps: PollDeps): readonly Route[] => [
  route({
    method: "GET",
    path: `${TOPIC_PATH}/messages`,
    tag: "Messages",
    summary: "Read messages that are there",
    access: needs("poll"),
    place: "partition",
    params: topicParams,
    query: pollQuery,
    answers: [polled],
    serve: (request) =>
      serve(deps, request, READ_MILLIS, (poll, options) =>
        deps.runner.run(request.caller, pollMessages, poll, options),
      ),
  }),
  deferred(deps, "GET", "Read messages, waiting until there are enough"),
  deferred(
    deps,
    "POST",
    "Read messages as GET does; for reads that store their offset, which nothing on the way may repeat",
  ),
];

const deferred = (deps: PollDeps, method: Method, summary: string): Route =>
  route({
    method,
    path: `${TOPIC_PATH}/messages/deferred`,
    tag: "Messages",
    summary,
    access: needs("poll"),
    place: "partition",
    params: topicParams,
    query: deferredPollQuery,
    answers: [polled],
    serve: (request) => {
      const wait = waitOf(request.query);
      return serve(deps, request, Number(wait.requestTimeoutUs) / 1000, (poll, options) =>
        deps.runner.run(request.caller, pollMessagesDeferred, { poll, ...wait }, options),
      );
    },
  });

async function serve(
  { directory, replies }: PollDeps,
  { params, query, signal }: Target,
  timeoutMillis: number,
  run: (poll: PollMessagesRequest, options: Parameters<CommandRunner["run"]>[3]) => Promise<PollReply>,
): Promise<Outcome> {
  if (query.consumer_kind !== "consumer") {
    throw new IggyError(ErrorCode.FeatureUnavailable, "over HTTP only single consumers poll");
  }
  replies.check();
  const { partition_id: partitionId, auto_commit: autoCommit } = query;
  const fences = fencesOf(findTopic(directory, params), partitionId, query.context);
  const poll = {
    ...targetOf(params),
    consumer: consumerOf(query),
    partitionId,
    strategy: strategyOf(query),
    count: query.count,
    autoCommit,
  };
  const reply = await within(
    run(poll, { fences, inSession: autoCommit, signal }),
    timeoutMillis,
    "partition_read_timeout",
    autoCommit
      ? "the partition did not answer in time; the offset may be stored"
      : "the partition did not answer in time",
  );
  return polled.of({
    sizeBytes: reply.records.length,
    pieces: (integers) => polledMessagesText(reply, integers),
    release: replies.take(reply.records.length),
  });
}
