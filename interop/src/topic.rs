//! A topic of one scenario, and the sends and polls that scenarios repeat.

use crate::outcome::{Failure, Outcome, equal, present};
use bytes::Bytes;
use iggy::prelude::*;
use std::ops::Range;

/// Consumer id of the polls that store nothing.
const READER: u32 = 1;

pub struct Topic {
    pub stream: Identifier,
    pub topic: Identifier,
}

/// The messages `message START` to `message END - 1`. An id is one more than its number, so that 0 never asks the
/// client for a random one.
pub fn messages(numbers: Range<u32>) -> Outcome<Vec<IggyMessage>> {
    numbers.map(message).collect()
}

pub fn message(number: u32) -> Outcome<IggyMessage> {
    let id = u128::from(number) + 1;
    Ok(IggyMessage::builder().id(id).payload(Bytes::from(text(number))).build()?)
}

pub fn text(number: u32) -> String {
    format!("message {number}")
}

pub fn texts(numbers: Range<u32>) -> Vec<String> {
    numbers.map(text).collect()
}

/// The payloads of a reply, which must be UTF-8.
pub fn read_texts(polled: &PolledMessages) -> Outcome<Vec<String>> {
    polled.messages.iter().map(|message| message.payload_as_string().map_err(Failure::from)).collect()
}

pub fn offsets(polled: &PolledMessages) -> Vec<u64> {
    polled.messages.iter().map(|message| message.header.offset).collect()
}

impl Topic {
    /// Sends one batch to a partition. Returns the offset of its first message.
    pub async fn send(&self, client: &IggyClient, partition: u32, numbers: Range<u32>) -> Outcome<u64> {
        let mut batch = messages(numbers)?;
        let partitioning = Partitioning::partition_id(partition);
        let sent = client.send_messages(&self.stream, &self.topic, &partitioning, &mut batch).await?;
        let confirmation = present("confirmation", sent.confirmations.first())?;
        equal("confirmed partition", confirmation.partition_id, partition)?;
        Ok(confirmation.base_offset)
    }

    /// A poll that answers at once and stores nothing.
    pub async fn poll(
        &self,
        client: &IggyClient,
        partition: u32,
        strategy: PollingStrategy,
        count: u32,
    ) -> Result<PolledMessages, IggyError> {
        let options = PollOptions { count, ..Default::default() };
        self.poll_as(client, &Consumer::new(Identifier::numeric(READER)?), partition, strategy, options).await
    }

    pub async fn poll_as(
        &self,
        client: &IggyClient,
        consumer: &Consumer,
        partition: u32,
        strategy: PollingStrategy,
        options: PollOptions,
    ) -> Result<PolledMessages, IggyError> {
        client.poll_messages(&self.stream, &self.topic, partition, consumer, &strategy, options).await
    }

    /// The payloads of a whole partition, whose offsets must be 0, 1, 2, ...
    pub async fn read_all(&self, client: &IggyClient, partition: u32) -> Outcome<Vec<String>> {
        let mut read = Vec::new();
        let mut position = PollingStrategy::offset(0);
        loop {
            let polled = self.poll(client, partition, position, 1000).await?;
            if polled.messages.is_empty() {
                return Ok(read);
            }
            let first = read.len() as u64;
            equal("offsets", offsets(&polled), (first..first + polled.messages.len() as u64).collect())?;
            read.extend(read_texts(&polled)?);
            position = polled.continuation();
        }
    }
}
