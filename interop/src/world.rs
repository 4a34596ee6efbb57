//! What a scenario finds: the server, its sessions, and names that no other scenario uses.

use crate::outcome::{Failure, Outcome};
use crate::topic::Topic;
use iggy::prelude::*;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::net::TcpStream;
use tokio::sync::OnceCell;
use tokio::time::{Instant, sleep, timeout};

const CONNECT_LIMIT: Duration = Duration::from_secs(5);
const CONVERGENCE_LIMIT: Duration = Duration::from_secs(10);
const CONVERGENCE_PAUSE: Duration = Duration::from_millis(50);

/// The server under test and its root account, taken from a connection string.
#[derive(Clone)]
pub struct Server {
    pub address: String,
    pub username: String,
    pub password: String,
}

impl Server {
    pub fn parse(url: &str) -> Option<Self> {
        let rest = url.strip_prefix("iggy+tcp://").or_else(|| url.strip_prefix("iggy://"))?;
        let (credentials, address) = rest.split_once('@')?;
        let (username, password) = credentials.split_once(':')?;
        Some(Self { address: address.to_owned(), username: username.to_owned(), password: password.to_owned() })
    }

    pub async fn accepts(&self) -> bool {
        timeout(CONNECT_LIMIT, TcpStream::connect(&self.address)).await.is_ok_and(|connected| connected.is_ok())
    }

    fn url(address: &str, username: &str, password: &str) -> String {
        format!("iggy+tcp://{username}:{password}@{address}?nodelay=true&reconnection_interval=100ms")
    }
}

pub struct World {
    server: Server,
    /// Starts every name of this scenario: unique on the server, short enough for a token name.
    prefix: String,
    names: AtomicU32,
    root: OnceCell<Arc<IggyClient>>,
    clients: Mutex<Vec<Arc<IggyClient>>>,
}

impl World {
    pub fn new(server: Server, scenario: usize) -> Self {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            server,
            prefix: format!("io{:x}-{scenario}-", since_epoch.as_millis()),
            names: AtomicU32::new(0),
            root: OnceCell::new(),
            clients: Mutex::default(),
        }
    }

    pub fn server(&self) -> &Server {
        &self.server
    }

    /// A name that nothing on the server has: 19 to 30 bytes, so that it also names a user or a token.
    pub fn name(&self) -> String {
        format!("{}{}", self.prefix, self.names.fetch_add(1, Ordering::Relaxed))
    }

    pub fn id(&self) -> Outcome<Identifier> {
        Ok(Identifier::named(&self.name())?)
    }

    /// The root session that most of the scenario runs in.
    pub async fn root(&self) -> Outcome<&Arc<IggyClient>> {
        self.root.get_or_try_init(|| self.sign_in()).await
    }

    /// Another root session.
    pub async fn sign_in(&self) -> Outcome<Arc<IggyClient>> {
        Ok(self.sign_in_as(&self.server.username, &self.server.password).await?)
    }

    pub async fn sign_in_as(&self, username: &str, password: &str) -> Result<Arc<IggyClient>, IggyError> {
        self.sign_in_at(&self.server.address, username, password).await
    }

    /// A session that reaches the server through `address`.
    pub async fn sign_in_at(
        &self,
        address: &str,
        username: &str,
        password: &str,
    ) -> Result<Arc<IggyClient>, IggyError> {
        self.connect(IggyClient::from_connection_string(&Server::url(address, username, password))?).await
    }

    /// A connection without a session.
    pub async fn connect_only(&self) -> Outcome<Arc<IggyClient>> {
        let client = IggyClient::builder().with_tcp().with_server_address(self.server.address.clone()).build()?;
        Ok(self.connect(client).await?)
    }

    async fn connect(&self, client: IggyClient) -> Result<Arc<IggyClient>, IggyError> {
        let client = Arc::new(client);
        self.clients.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&client));
        client.connect().await?;
        Ok(client)
    }

    pub async fn stream(&self) -> Outcome<Identifier> {
        let name = self.name();
        self.root().await?.create_stream(&name, &StreamCreateOptions::default()).await?;
        Ok(Identifier::named(&name)?)
    }

    /// A topic of `partitions` in a stream of its own, with the defaults of the server.
    pub async fn topic(&self, partitions: u32) -> Outcome<Topic> {
        self.topic_with(TopicCreateOptions { partitions_count: Some(partitions), ..Default::default() }).await
    }

    pub async fn topic_with(&self, options: TopicCreateOptions) -> Outcome<Topic> {
        let stream = self.stream().await?;
        let name = self.name();
        self.root().await?.create_topic(&stream, &name, &options).await?;
        Ok(Topic { stream, topic: Identifier::named(&name)? })
    }

    /// Removes what the scenario left on the server and ends its sessions, whatever its outcome was.
    pub async fn clean_up(&self) -> Outcome {
        let root = self.sign_in().await?;
        for stream in root.get_streams().await?.iter().filter(|stream| stream.name.starts_with(&self.prefix)) {
            root.delete_stream(&Identifier::named(&stream.name)?).await?;
        }
        for user in root.get_users().await?.iter().filter(|user| user.username.starts_with(&self.prefix)) {
            root.delete_user(&Identifier::named(&user.username)?).await?;
        }
        let tokens = root.get_personal_access_tokens().await?;
        for token in tokens.iter().filter(|token| token.name.starts_with(&self.prefix)) {
            root.delete_personal_access_token(&token.name).await?;
        }
        let clients = std::mem::take(&mut *self.clients.lock().unwrap_or_else(PoisonError::into_inner));
        for client in clients {
            // A session that the scenario already ended refuses both, which changes nothing here.
            let _ = client.logout_user().await;
            let _ = client.shutdown().await;
        }
        Ok(())
    }
}

/// Repeats `check` until it succeeds or ten seconds passed: for state that follows a reply, such as a rebalance.
pub async fn eventually<T>(mut check: impl AsyncFnMut() -> Outcome<T>) -> Outcome<T> {
    let deadline = Instant::now() + CONVERGENCE_LIMIT;
    loop {
        match check().await {
            Ok(value) => return Ok(value),
            Err(failure) if Instant::now() >= deadline => return Err(failure),
            Err(_) => sleep(CONVERGENCE_PAUSE).await,
        }
    }
}

pub fn user_id(name: &str) -> Result<Identifier, Failure> {
    Ok(Identifier::named(name)?)
}
