import {
  type ConsumerOffset,
  deleteConsumerOffset,
  type GetConsumerOffsetRequest,
  getConsumerOffset,
  storeConsumerOffset,
} from "@iggy/protocol";
import { Members } from "../members.js";
import { contextJson } from "./context.js";
import { type HttpRoutes, idSegment, idText, nothing, query, topicPath } from "./route.js";

/** Offsets of consumers. */
export function addOffsets(routes: HttpRoutes): void {
  routes
    .add(getConsumerOffset, {
      request: (request) => ({
        method: "GET",
        path:
          offsetsPath(request) +
          query({
            consumer_kind: request.consumer.kind,
            consumer_id: idText(request.consumer.id),
            partition_id: request.partitionId ?? 0,
          }),
      }),
      reply: ({ json }) => offsetOf(new Members(json)),
      absent: null,
    })
    .add(storeConsumerOffset, {
      request: (request, context) => ({
        method: "PUT",
        path: offsetsPath(request),
        body: {
          consumer_kind: request.consumer.kind,
          consumer_id: idText(request.consumer.id),
          partition_id: request.partitionId ?? 0,
          offset: request.offset,
          context: context === undefined ? null : contextJson(context),
        },
      }),
      reply: nothing,
    })
    .add(deleteConsumerOffset, {
      // There is no member for a history here: the server takes the one that it holds.
      request: (request) => ({
        method: "DELETE",
        path: `${offsetsPath(request)}/${idSegment(request.consumer.id)}${query({
          consumer_kind: request.consumer.kind,
          partition_id: request.partitionId ?? 0,
        })}`,
      }),
      reply: nothing,
    });
}

const offsetsPath = ({ streamId, topicId }: Pick<GetConsumerOffsetRequest, "streamId" | "topicId">): string =>
  `${topicPath(streamId, topicId)}/consumer-offsets`;

const offsetOf = (offset: Members): ConsumerOffset => ({
  partitionId: offset.u32("partition_id"),
  currentOffset: offset.u64("current_offset"),
  storedOffset: offset.u64("stored_offset"),
});
