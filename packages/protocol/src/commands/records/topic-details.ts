import { headed, type ValueOf } from "../../codec/index.js";
import { partition } from "./partition.js";
import { topic } from "./topic.js";

/** A topic, then its partitions. */
export const topicDetails = headed("topic details", "topic", topic, "partitionsCount", "partitions", partition);
export type TopicDetails = ValueOf<typeof topicDetails>;
