//! TLS 1.3 without ALPN, without client certificates, without 0-RTT.

use crate::js::{Env, Failure, Outcome, Value};
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{ring, verify_tls12_signature, verify_tls13_signature, CryptoProvider};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::version::TLS13;
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, ServerConfig, SignatureScheme};
use std::sync::Arc;

fn refused(what: &str, error: impl std::fmt::Display) -> Failure {
    Failure::new("QUIC_TLS", format!("{what}: {error}"))
}

fn certificates(env: Env, options: Value, name: &str) -> Outcome<Vec<CertificateDer<'static>>> {
    options
        .property(env, name)?
        .elements(env, name)?
        .into_iter()
        .map(|value| Ok(CertificateDer::from(value.as_bytes(env)?)))
        .collect()
}

/// Reads `certificates`, DER from the leaf on, and `key`, PKCS #8.
pub fn server(env: Env, options: Value) -> Outcome<Arc<QuicServerConfig>> {
    let chain = certificates(env, options, "certificates")?;
    let key = PrivatePkcs8KeyDer::from(options.property(env, "key")?.as_bytes(env)?);
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&TLS13])
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, PrivateKeyDer::Pkcs8(key)))
        .map_err(|error| refused("the certificate and its key can't be used", error))?;
    // Nobody resumes: there is no early data, and a full handshake happens once for each connection.
    config.send_tls13_tickets = 0;
    let quic = QuicServerConfig::try_from(config).map_err(|error| refused("TLS can't serve QUIC", error))?;
    Ok(Arc::new(quic))
}

/// Reads `roots`, DER, `acceptsAny`, which leaves them aside, and `protocols`, which tests offer.
pub fn client(env: Env, options: Value) -> Outcome<Arc<QuicClientConfig>> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[&TLS13])
        .map_err(|error| refused("TLS can't be set up", error))?;
    let mut config = if options.property(env, "acceptsAny")?.as_number(env, "acceptsAny")? != 0.0 {
        builder.dangerous().with_custom_certificate_verifier(Arc::new(AcceptAny(provider))).with_no_client_auth()
    } else {
        let mut roots = RootCertStore::empty();
        // Roots of a system may hold some that nobody could use.
        let (added, _) = roots.add_parsable_certificates(certificates(env, options, "roots")?);
        if added == 0 {
            return Err(Failure::new("QUIC_TLS", "none of the root certificates can be used"));
        }
        builder.with_root_certificates(roots).with_no_client_auth()
    };
    for protocol in options.property(env, "protocols")?.elements(env, "protocols")? {
        config.alpn_protocols.push(protocol.as_bytes(env)?);
    }
    let quic = QuicClientConfig::try_from(config).map_err(|error| refused("TLS can't serve QUIC", error))?;
    Ok(Arc::new(quic))
}

/// Any certificate, as long as the server holds its key.
#[derive(Debug)]
struct AcceptAny(Arc<CryptoProvider>);

impl ServerCertVerifier for AcceptAny {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
