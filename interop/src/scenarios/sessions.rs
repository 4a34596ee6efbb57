//! Signing in and out.

use super::scenarios;
use crate::code;
use crate::outcome::{Outcome, absent, equal, holds, present, refused};
use crate::world::World;
use futures_util::future::try_join_all;
use iggy::prelude::*;
use std::collections::HashSet;
use std::time::Duration;
use tokio::time::sleep;

scenarios![
    "ping-without-session" = ping_without_session,
    "sign-in-and-out" = sign_in_and_out,
    "wrong-credentials" = wrong_credentials,
    "token-sign-in" = token_sign_in,
    "token-expiry" = token_expiry,
    "many-sessions" = many_sessions,
    "disconnect-and-connect" = disconnect_and_connect,
];

async fn ping_without_session(world: &World) -> Outcome {
    let client = world.connect_only().await?;
    client.ping().await?;
    refused("streams without a session", client.get_streams().await, &[code::UNAUTHENTICATED])?;
    refused("own client without a session", client.get_me().await, &[code::UNAUTHENTICATED])?;
    client.ping().await?;
    Ok(())
}

async fn sign_in_and_out(world: &World) -> Outcome {
    let client = world.connect_only().await?;
    let server = world.server();
    let identity = client.login_user(&server.username, &server.password).await?;
    equal("user id of root", identity.user_id, 0)?;
    holds("no web token over TCP", identity.access_token.is_none())?;
    equal("user of the own client", client.get_me().await?.user_id, Some(0))?;
    client.logout_user().await?;
    refused("streams after the logout", client.get_streams().await, &[code::UNAUTHENTICATED])?;
    client.login_user(&server.username, &server.password).await?;
    client.get_streams().await?;
    Ok(())
}

async fn wrong_credentials(world: &World) -> Outcome {
    let client = world.connect_only().await?;
    let server = world.server();
    let wrong_password = client.login_user(&server.username, "not the password").await;
    refused("wrong password", wrong_password, &[code::INVALID_CREDENTIALS])?;
    let unknown_user = client.login_user(&world.name(), "not the password").await;
    refused("unknown user", unknown_user, &[code::INVALID_CREDENTIALS])?;
    client.login_user(&server.username, &server.password).await?;
    client.get_streams().await?;
    Ok(())
}

async fn token_sign_in(world: &World) -> Outcome {
    let root = world.root().await?;
    let name = world.name();
    let token = root.create_personal_access_token(&name, PersonalAccessTokenExpiry::NeverExpire).await?.token;
    let duplicate = root.create_personal_access_token(&name, PersonalAccessTokenExpiry::NeverExpire).await;
    refused("second token of the name", duplicate.map(|_| ()), &[code::TOKEN_ALREADY_EXISTS])?;
    let listed = root.get_personal_access_tokens().await?;
    let listed = present("token in the list", listed.into_iter().find(|listed| listed.name == name))?;
    absent("expiry of a token that never expires", listed.expiry_at)?;

    let client = world.connect_only().await?;
    equal("user of the token", client.login_with_personal_access_token(&token).await?.user_id, 0)?;
    client.get_streams().await?;

    root.delete_personal_access_token(&name).await?;
    let unknown = root.delete_personal_access_token(&name).await;
    refused("delete of a deleted token", unknown, &[code::RESOURCE_NOT_FOUND])?;
    client.get_streams().await?;
    let late = world.connect_only().await?.login_with_personal_access_token(&token).await;
    refused("sign-in with a deleted token", late, &[code::INVALID_TOKEN])
}

async fn token_expiry(world: &World) -> Outcome {
    let root = world.root().await?;
    let lifetime = PersonalAccessTokenExpiry::ExpireDuration(IggyDuration::ONE_SECOND);
    let name = world.name();
    let token = root.create_personal_access_token(&name, lifetime).await?.token;
    let in_time = world.connect_only().await?.login_with_personal_access_token(&token).await?;
    equal("user of the token", in_time.user_id, 0)?;
    sleep(Duration::from_millis(1200)).await;
    let late = world.connect_only().await?.login_with_personal_access_token(&token).await;
    refused("sign-in with an expired token", late, &[code::INVALID_TOKEN])
}

async fn many_sessions(world: &World) -> Outcome {
    const SESSIONS: usize = 16;
    let clients = try_join_all((0..SESSIONS).map(|_| world.sign_in())).await?;
    let ids = try_join_all(clients.iter().map(|client| client.get_me())).await?;
    let ids: HashSet<u32> = ids.into_iter().map(|me| me.client_id).collect();
    equal("distinct client ids", ids.len(), SESSIONS)?;
    let listed: HashSet<u32> = clients[0].get_clients().await?.into_iter().map(|client| client.client_id).collect();
    holds("every session is listed", ids.is_subset(&listed))
}

async fn disconnect_and_connect(world: &World) -> Outcome {
    let client = world.sign_in().await?;
    client.get_streams().await?;
    client.disconnect().await?;
    let lost = client.get_streams().await;
    refused("streams after the disconnect", lost, &[code::DISCONNECTED, code::NOT_CONNECTED])?;
    client.connect().await?;
    client.get_streams().await?;
    Ok(())
}
