export {
  streamBuilders,
  type StreamBuilders,
  type StreamConsumer,
  type StreamConsumerOptions,
  type StreamPair,
  type StreamProducer,
  type StreamProducerOptions,
} from "./stream-pair.js";
