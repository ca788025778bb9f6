import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { Server } from 'node:https'
import { createSecureContext, type SecureContext } from 'node:tls'
import type { Logger } from 'pino'
import type { CertificateFiles, TlsConfig } from '../config.ts'
import type { Keyring } from '../crypto/keyring.ts'
import {
  createServerCa,
  issueServerCertificate,
  RENEW_AFTER_MS,
  type ServerCertificate,
} from '../crypto/server-certificate.ts'

/** Certificate of an HTTPS server, and CAs of its client certificates. Both are renewed while the server runs. */
export type Tls = {
  /** Certificate that the server presents on new connections. */
  readonly certificate: ServerCertificate
  /** CAs of client certificates, PEM. Null when the server requests no client certificates. */
  readonly clientCa: readonly string[] | null
  /**
   * Option of Node's HTTPS server: chooses the certificate of a connection by the host name that the client requests.
   */
  readonly SNICallback: (host: string, done: (error: null, context?: SecureContext) => void) => void
  /** Renews the certificate and reads the CAs again at intervals, until the server closes. */
  keepFresh(server: Server): void
}

/** Interval in milliseconds at which files are read again, and at which the age of an issued certificate is checked. */
const CHECK_MS = 60 * 60_000
/**
 * Interval in milliseconds between two reads of the client CAs. The Kubernetes API server reads its client CA file at
 * the same interval.
 */
const CLIENT_CA_MS = 60_000

export type OpenTlsDeps = {
  readonly keyring: Keyring
  readonly log: Logger
  /** Reads the CAs of client certificates. Null when the server requests no client certificates. */
  readonly readClientCa?: (() => Promise<readonly string[]>) | null
  readonly clientCaMs?: number
  readonly checkMs?: number
  readonly nowMs?: () => number
}

/**
 * Loads the certificate from files or issues it. Rejects with an error that names the setting when a file cannot be
 * read.
 */
export async function openTls(config: TlsConfig, deps: OpenTlsDeps): Promise<Tls> {
  const { keyring, log, readClientCa = null, clientCaMs = CLIENT_CA_MS } = deps
  const { checkMs = CHECK_MS, nowMs = Date.now } = deps
  const next = certificates(config, keyring, nowMs)
  const own: readonly string[] = 'hosts' in config ? config.hosts : []
  const nextForHosts = 'hosts' in config && config.files ? fromFiles(config.files) : async () => null
  let certificate = await next()
  let certificateForHosts = await nextForHosts()
  // An empty list accepts no client certificate. Without a list, Node would trust every public CA.
  let clientCa = readClientCa === null ? null : await readClientCa().catch((): readonly string[] => [])
  let forHosts = contextForHosts(certificateForHosts, clientCa)
  return {
    get certificate() {
      return certificate
    },
    clientCa,
    SNICallback(host, done) {
      // When no context is passed to `done`, Node uses the context of `setSecureContext`. Clients of the
      // hosts in `own` trust only the CA of the certificate in that context.
      const isForHosts = forHosts !== null && isNamed(forHosts.names, host) && !isNamed(own, host)
      done(null, isForHosts ? forHosts?.context : undefined)
    },
    keepFresh(server) {
      const present = (found: ServerCertificate) =>
        server.setSecureContext({ ...found, ...clientCaOptions(clientCa) })
      // The certificate and the key do not match while the files are being replaced. Both files are then read again at
      // the next interval.
      const renew = async () => {
        const found = await next()
        if (found.cert !== certificate.cert) present(found)
        certificate = found
        const foundForHosts = await nextForHosts()
        if (foundForHosts?.cert !== certificateForHosts?.cert)
          forHosts = contextForHosts(foundForHosts, clientCa)
        certificateForHosts = foundForHosts
      }
      const reread = async () => {
        const found = (await readClientCa?.()) ?? null
        if (String(found) === String(clientCa)) return
        clientCa = found
        present(certificate)
        forHosts = contextForHosts(certificateForHosts, clientCa)
      }
      // After an error the last valid certificate stays in use. The files are read again at the next interval.
      const failed = (error: unknown) => log.error({ err: error }, 'certificate not renewed')
      const timers = [setInterval(() => void renew().catch(failed), checkMs).unref()]
      if (readClientCa !== null)
        timers.push(setInterval(() => void reread().catch(failed), clientCaMs).unref())
      server.once('close', () => timers.forEach(clearInterval))
    },
  }
}

/**
 * Returns the TLS context of a certificate, and the host names of the certificate. The first label of a host name may
 * be `*`.
 */
function contextForHosts(certificate: ServerCertificate | null, clientCa: readonly string[] | null) {
  if (certificate === null) return null
  const names = new X509Certificate(certificate.cert).subjectAltName?.split(', ') ?? []
  return {
    names: names.filter((name) => name.startsWith('DNS:')).map((name) => name.slice('DNS:'.length)),
    context: createSecureContext({ ...certificate, ...clientCaOptions(clientCa) }),
  }
}

/** Returns whether one of the names matches the host. The first label of a name may be `*`. */
function isNamed(names: readonly string[], host: string): boolean {
  const name = host.toLowerCase()
  const wildcard = name.replace(/^[^.]+/, '*')
  return names.map((each) => each.toLowerCase()).some((each) => each === name || each === wildcard)
}

/**
 * Returns the TLS options for client CAs. As in the Kubernetes API server, an intermediate CA without its root is
 * accepted.
 */
export function clientCaOptions(clientCa: readonly string[] | null) {
  return clientCa === null ? {} : { ca: [...clientCa], allowPartialTrustChain: true }
}

/**
 * Returns a function that returns the current certificate. The function compares the age of an issued certificate with
 * the clock. A timer of days would not be reliable, because timers do not advance while a machine is suspended.
 */
function certificates(
  config: TlsConfig,
  keyring: Keyring,
  nowMs: () => number,
): () => Promise<ServerCertificate> {
  if ('certFile' in config) return fromFiles(config)
  let issued: { readonly certificate: ServerCertificate; readonly atMs: number } | null = null
  return async () => {
    const now = nowMs()
    if (issued === null || Math.abs(now - issued.atMs) >= RENEW_AFTER_MS) {
      // The CA has the same key each time, so that clients which trust an earlier certificate of the CA also trust
      // the new leaf certificate.
      const ca = createServerCa(keyring, now)
      issued = { certificate: issueServerCertificate(ca, config.hosts, now), atMs: now }
    }
    return issued.certificate
  }
}

function fromFiles({ certFile, keyFile }: CertificateFiles): () => Promise<ServerCertificate> {
  return async () => ({
    cert: await readPem(certFile, 'TLS_CERT_FILE'),
    key: await readPem(keyFile, 'TLS_KEY_FILE'),
  })
}

async function readPem(path: string, setting: string): Promise<string> {
  try {
    const text = await readFile(path, 'utf8')
    // An empty file is refused, because OpenSSL would accept a context without a key, and all handshakes
    // would then fail.
    if (text === '') throw new Error('the file is empty')
    return text
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error)
    throw new Error(`${setting}: cannot read ${path} (${code}). Mount the file or change the setting.`, {
      cause: error,
    })
  }
}
