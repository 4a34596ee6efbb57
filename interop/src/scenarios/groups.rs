//! Consumer groups.

use super::scenarios;
use crate::code;
use crate::outcome::{Outcome, absent, equal, holds, present, refused};
use crate::topic::{Topic, offsets};
use crate::world::{World, eventually};
use iggy::prelude::*;
use std::collections::BTreeSet;

scenarios![
    "group-lifecycle" = group_lifecycle,
    "group-join-and-leave" = join_and_leave,
    "group-rebalance" = rebalance,
    "group-more-members-than-partitions" = more_members_than_partitions,
    "group-follows-partitions" = follows_partitions,
    "group-ownership" = ownership,
    "group-hand-over" = hand_over,
    "group-logout" = logout,
];

struct Group {
    topic: Topic,
    id: Identifier,
}

impl Group {
    async fn create(world: &World, partitions: u32) -> Outcome<Self> {
        let topic = world.topic(partitions).await?;
        let name = world.name();
        world.root().await?.create_consumer_group(&topic.stream, &topic.topic, &name).await?;
        Ok(Self { topic, id: Identifier::named(&name)? })
    }

    async fn join(&self, client: &IggyClient) -> Outcome {
        Ok(client.join_consumer_group(&self.topic.stream, &self.topic.topic, &self.id).await?)
    }

    async fn leave(&self, client: &IggyClient) -> Result<(), IggyError> {
        client.leave_consumer_group(&self.topic.stream, &self.topic.topic, &self.id).await
    }

    async fn sync(&self, client: &IggyClient) -> Outcome<Option<ConsumerGroupAssignment>> {
        Ok(client.sync_consumer_group(&self.topic.stream, &self.topic.topic, &self.id).await?)
    }

    /// The partitions that the member may poll now.
    async fn share(&self, client: &IggyClient) -> Outcome<BTreeSet<u32>> {
        Ok(present("assignment", self.sync(client).await?)?.partitions.into_iter().collect())
    }

    async fn details(&self, client: &IggyClient) -> Outcome<ConsumerGroupDetails> {
        present("group", client.get_consumer_group(&self.topic.stream, &self.topic.topic, &self.id).await?)
    }

    async fn poll(
        &self,
        client: &IggyClient,
        partition: u32,
        commit: CommitPolicy,
    ) -> Result<PolledMessages, IggyError> {
        let options = PollOptions { count: 5, commit, ..Default::default() };
        self.topic.poll_as(client, &self.consumer(), partition, PollingStrategy::next(), options).await
    }

    fn consumer(&self) -> Consumer {
        Consumer::group(self.id.clone())
    }
}

/// Waits until the shares are disjoint, cover `partitions` and have the given sizes.
async fn settled(group: &Group, members: &[&IggyClient], sizes: &[usize], partitions: u32) -> Outcome {
    eventually(async || {
        let mut covered = BTreeSet::new();
        let mut found = Vec::new();
        for member in members {
            let share = group.share(member).await?;
            found.push(share.len());
            covered.extend(share);
        }
        found.sort_unstable();
        equal("sizes of the shares", found, sizes.to_vec())?;
        equal("partitions of all shares", covered, (0..partitions).collect())
    })
    .await
}

async fn group_lifecycle(world: &World) -> Outcome {
    let root = world.root().await?;
    let topic = world.topic(2).await?;
    let name = world.name();
    let created = root.create_consumer_group(&topic.stream, &topic.topic, &name).await?;
    equal("name of the reply", created.name.as_str(), name.as_str())?;
    equal("members of a new group", created.members_count, 0)?;
    equal("partitions of a new group", created.partitions_count, 2)?;
    let duplicate = root.create_consumer_group(&topic.stream, &topic.topic, &name).await;
    refused("second group of the name", duplicate, &[code::GROUP_NAME_ALREADY_EXISTS])?;

    let id = Identifier::numeric(created.id)?;
    let by_id = present("group by id", root.get_consumer_group(&topic.stream, &topic.topic, &id).await?)?;
    equal("name of the group", by_id.name.as_str(), name.as_str())?;
    let listed = root.get_consumer_groups(&topic.stream, &topic.topic).await?;
    equal("groups of the topic", listed.iter().map(|group| group.name.clone()).collect(), vec![name])?;

    root.delete_consumer_group(&topic.stream, &topic.topic, &id).await?;
    absent("deleted group", root.get_consumer_group(&topic.stream, &topic.topic, &id).await?)?;
    let again = root.delete_consumer_group(&topic.stream, &topic.topic, &id).await;
    refused("delete of a deleted group", again, code::NO_SUCH_GROUP)?;
    let reborn = root.create_consumer_group(&topic.stream, &topic.topic, &world.name()).await?;
    holds("group ids are never reused", reborn.id > created.id)
}

async fn join_and_leave(world: &World) -> Outcome {
    let root = world.root().await?;
    let group = Group::create(world, 3).await?;
    absent("assignment before the join", group.sync(root).await?)?;
    refused("leave before the join", group.leave(root).await, &[code::GROUP_MEMBER_NOT_FOUND])?;
    group.join(root).await?;
    group.join(root).await?;
    equal("partitions of the only member", group.share(root).await?, BTreeSet::from([0, 1, 2]))?;
    let details = group.details(root).await?;
    equal("members", details.members_count, 1)?;
    equal(
        "partitions of the member",
        details.members[0].partitions.iter().copied().collect(),
        BTreeSet::from([0, 1, 2]),
    )?;
    equal("groups of the own client", root.get_me().await?.consumer_groups.len(), 1)?;

    group.leave(root).await?;
    absent("assignment after the leave", group.sync(root).await?)?;
    equal("members after the leave", group.details(root).await?.members_count, 0)
}

async fn rebalance(world: &World) -> Outcome {
    let group = Group::create(world, 6).await?;
    let (first, second, third) = (world.sign_in().await?, world.sign_in().await?, world.sign_in().await?);
    group.join(&first).await?;
    settled(&group, &[&first], &[6], 6).await?;
    let alone = present("assignment", group.sync(&first).await?)?.generation;
    group.join(&second).await?;
    settled(&group, &[&first, &second], &[3, 3], 6).await?;
    let together = present("assignment", group.sync(&first).await?)?.generation;
    holds("a change moves the generation", together > alone)?;
    group.join(&third).await?;
    settled(&group, &[&first, &second, &third], &[2, 2, 2], 6).await?;
    group.leave(&second).await?;
    settled(&group, &[&first, &third], &[3, 3], 6).await?;
    equal("members", group.details(&first).await?.members_count, 2)
}

async fn more_members_than_partitions(world: &World) -> Outcome {
    let group = Group::create(world, 1).await?;
    let (first, second) = (world.sign_in().await?, world.sign_in().await?);
    group.join(&first).await?;
    group.join(&second).await?;
    settled(&group, &[&first, &second], &[0, 1], 1).await?;
    group.leave(&first).await?;
    settled(&group, &[&second], &[1], 1).await
}

async fn follows_partitions(world: &World) -> Outcome {
    let root = world.root().await?;
    let group = Group::create(world, 2).await?;
    let (first, second) = (world.sign_in().await?, world.sign_in().await?);
    group.join(&first).await?;
    group.join(&second).await?;
    settled(&group, &[&first, &second], &[1, 1], 2).await?;
    root.create_partitions(&group.topic.stream, &group.topic.topic, 2).await?;
    settled(&group, &[&first, &second], &[2, 2], 4).await?;
    root.delete_partitions(&group.topic.stream, &group.topic.topic, 1).await?;
    settled(&group, &[&first, &second], &[1, 2], 3).await
}

/// Only the owner of a partition reads it and moves its offset.
async fn ownership(world: &World) -> Outcome {
    let group = Group::create(world, 2).await?;
    let (first, second, stranger) = (world.sign_in().await?, world.sign_in().await?, world.root().await?);
    group.topic.send(stranger, 0, 0..5).await?;
    group.topic.send(stranger, 1, 0..5).await?;
    group.join(&first).await?;
    group.join(&second).await?;
    settled(&group, &[&first, &second], &[1, 1], 2).await?;
    let own = present("partition", group.share(&first).await?.into_iter().next())?;
    let foreign = 1 - own;

    let polled = eventually(async || Ok(group.poll(&first, own, CommitPolicy::Manual).await?)).await?;
    equal("offsets of the own partition", offsets(&polled), (0..5).collect())?;
    let not_owned = &[code::GROUP_PARTITION_NOT_OWNED];
    let stolen = group.poll(&first, foreign, CommitPolicy::Manual).await.map(|_| ());
    refused("poll of the other share", stolen, not_owned)?;
    let (stream, topic) = (&group.topic.stream, &group.topic.topic);
    let stolen = first.store_consumer_offset(&group.consumer(), stream, topic, Some(foreign), 1).await;
    refused("offset of the other share", stolen, not_owned)?;
    let stolen = group.poll(stranger, own, CommitPolicy::Manual).await.map(|_| ());
    refused("poll by no member", stolen, &[code::GROUP_PARTITION_NOT_OWNED, code::GROUP_MEMBER_NOT_FOUND])?;
    first
        .store_consumer_position(&group.consumer(), stream, topic, &present("checkpoint", polled.checkpoint())?)
        .await?;
    let stored = stranger.get_consumer_offset(&group.consumer(), stream, topic, Some(own)).await?;
    equal("offset of the group", present("offset", stored)?.stored_offset, 4)
}

/// A new owner goes on behind the offset that the old one stored.
async fn hand_over(world: &World) -> Outcome {
    let group = Group::create(world, 1).await?;
    let (first, second) = (world.sign_in().await?, world.sign_in().await?);
    group.topic.send(&first, 0, 0..10).await?;
    group.join(&first).await?;
    let polled = eventually(async || Ok(group.poll(&first, 0, CommitPolicy::Manual).await?)).await?;
    equal("offsets of the first owner", offsets(&polled), (0..5).collect())?;
    let (stream, topic) = (&group.topic.stream, &group.topic.topic);
    let third = present("checkpoint", polled.checkpoint_at(2))?;
    first.store_consumer_position(&group.consumer(), stream, topic, &third).await?;

    group.join(&second).await?;
    group.leave(&first).await?;
    settled(&group, &[&second], &[1], 1).await?;
    let polled = eventually(async || Ok(group.poll(&second, 0, CommitPolicy::OnRead).await?)).await?;
    equal("offsets of the second owner", offsets(&polled), (3..8).collect())?;
    let late = first.store_consumer_position(&group.consumer(), stream, topic, &third).await;
    refused("offset of the old owner", late, &[code::GROUP_PARTITION_NOT_OWNED])?;
    let polled = group.poll(&second, 0, CommitPolicy::OnRead).await?;
    equal("offsets after the late store", offsets(&polled), vec![8, 9])
}

async fn logout(world: &World) -> Outcome {
    let group = Group::create(world, 4).await?;
    let (leaving, staying) = (world.sign_in().await?, world.sign_in().await?);
    group.join(&leaving).await?;
    group.join(&staying).await?;
    settled(&group, &[&leaving, &staying], &[2, 2], 4).await?;
    leaving.logout_user().await?;
    settled(&group, &[&staying], &[4], 4).await?;
    equal("members", group.details(&staying).await?.members_count, 1)
}
