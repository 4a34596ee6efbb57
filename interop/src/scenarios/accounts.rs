//! Users and their passwords.

use super::scenarios;
use crate::code;
use crate::outcome::{Outcome, absent, equal, holds, present, refused};
use crate::world::{World, eventually, user_id};
use iggy::prelude::*;

scenarios![
    "user-lifecycle" = user_lifecycle,
    "user-refusals" = user_refusals,
    "root-is-protected" = root_is_protected,
    "password-change" = password_change,
    "inactive-user" = inactive_user,
];

const PASSWORD: &str = "a good password";

async fn create(world: &World, status: UserStatus) -> Outcome<String> {
    let name = world.name();
    let options = UserCreateOptions::default();
    world.root().await?.create_user(&name, PASSWORD, status, None, &options).await?;
    Ok(name)
}

fn change(username: Option<&str>, status: Option<UserStatus>) -> UserUpdateOptions {
    UserUpdateOptions { username: username.map(str::to_owned), status, ..Default::default() }
}

async fn user_lifecycle(world: &World) -> Outcome {
    let root = world.root().await?;
    let name = create(world, UserStatus::Active).await?;
    let user = present("user by name", root.get_user(&user_id(&name)?).await?)?;
    equal("name of the user", user.username.as_str(), name.as_str())?;
    equal("status of the user", user.status, UserStatus::Active)?;
    holds("no permissions", user.permissions.is_none())?;
    holds("the id of root stays with root", user.id > 0)?;
    present("user by id", root.get_user(&Identifier::numeric(user.id)?).await?)?;
    let listed = root.get_users().await?;
    present("root in the list", listed.iter().find(|listed| listed.id == 0))?;
    present("user in the list", listed.iter().find(|listed| listed.username == name))?;

    let renamed = world.name();
    root.update_user(&user_id(&name)?, &change(Some(&renamed), None)).await?;
    absent("user by the old name", root.get_user(&user_id(&name)?).await?)?;
    world.sign_in_as(&renamed, PASSWORD).await?;
    root.delete_user(&user_id(&renamed)?).await?;
    absent("deleted user", root.get_user(&user_id(&renamed)?).await?)?;
    let late = world.sign_in_as(&renamed, PASSWORD).await;
    refused("sign-in of a deleted user", late.map(|_| ()), &[code::INVALID_CREDENTIALS])
}

async fn user_refusals(world: &World) -> Outcome {
    let root = world.root().await?;
    let (first, second) = (create(world, UserStatus::Active).await?, create(world, UserStatus::Active).await?);
    let options = UserCreateOptions::default();
    let duplicate = root.create_user(&first, PASSWORD, UserStatus::Active, None, &options).await;
    refused("second user of the name", duplicate, &[code::USER_ALREADY_EXISTS])?;
    let short = root.create_user("ab", PASSWORD, UserStatus::Active, None, &options).await;
    refused("name of two bytes", short, &[code::INVALID_USERNAME])?;
    let taken = root.update_user(&user_id(&second)?, &change(Some(&first), None)).await;
    refused("rename to a taken name", taken, &[code::USER_ALREADY_EXISTS])?;

    let missing = user_id(&world.name())?;
    absent("missing user", root.get_user(&missing).await?)?;
    refused("delete of a missing user", root.delete_user(&missing).await, &[code::RESOURCE_NOT_FOUND])?;
    let password = root.change_password(&missing, PASSWORD, "another password").await;
    refused("password of a missing user", password, &[code::RESOURCE_NOT_FOUND])
}

async fn root_is_protected(world: &World) -> Outcome {
    let root = world.root().await?;
    let id = Identifier::numeric(0)?;
    refused("delete of root", root.delete_user(&id).await, &[code::CANNOT_DELETE_USER])?;
    let permissions = root.update_permissions(&id, None).await;
    refused("permissions of root", permissions, &[code::CANNOT_CHANGE_PERMISSIONS])?;
    let status = root.update_user(&id, &change(None, Some(UserStatus::Inactive))).await;
    refused("deactivation of root", status, &[code::CANNOT_MODIFY_ROOT])?;
    let name = root.update_user(&id, &change(Some(&world.name()), None)).await;
    refused("rename of root", name, &[code::CANNOT_MODIFY_ROOT])
}

async fn password_change(world: &World) -> Outcome {
    let name = create(world, UserStatus::Active).await?;
    let user = world.sign_in_as(&name, PASSWORD).await?;
    let id = user_id(&name)?;
    let wrong = user.change_password(&id, "not the password", "another password").await;
    refused("change with a wrong password", wrong, &[code::INVALID_CREDENTIALS])?;
    user.change_password(&id, PASSWORD, "another password").await?;
    user.get_me().await?;
    let old = world.sign_in_as(&name, PASSWORD).await;
    refused("sign-in with the old password", old.map(|_| ()), &[code::INVALID_CREDENTIALS])?;
    world.sign_in_as(&name, "another password").await?;
    Ok(())
}

async fn inactive_user(world: &World) -> Outcome {
    let root = world.root().await?;
    let name = create(world, UserStatus::Inactive).await?;
    let early = world.sign_in_as(&name, PASSWORD).await;
    refused("sign-in of an inactive user", early.map(|_| ()), &[code::INVALID_CREDENTIALS])?;
    root.update_user(&user_id(&name)?, &change(None, Some(UserStatus::Active))).await?;
    let user = world.sign_in_as(&name, PASSWORD).await?;
    user.get_me().await?;

    root.update_user(&user_id(&name)?, &change(None, Some(UserStatus::Inactive))).await?;
    let ended = [code::UNAUTHENTICATED, code::INVALID_CREDENTIALS, code::STALE_CLIENT];
    eventually(async || refused("call in an ended session", user.get_me().await, &ended)).await
}
