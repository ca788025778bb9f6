import { readFile } from 'node:fs/promises'
import type { Server } from 'node:https'
import type { Logger } from 'pino'
import type { TlsConfig } from '../config.ts'
import type { Keyring } from '../crypto/keyring.ts'
import {
  createServerCa,
  issueServerCertificate,
  RENEW_AFTER_MS,
  type ServerCertificate,
} from '../crypto/server-certificate.ts'

/** The certificate of an HTTPS server and the CAs of its clients, both renewed while it runs. */
export type Tls = {
  readonly certificate: ServerCertificate
  /** CAs whose client certificates are verified, PEM; null = the server requests no client certificates. */
  readonly clientCa: readonly string[] | null
  /** Renews the certificate and reads the CAs again, until the server closes. */
  keepFresh(server: Server): void
}

const REREAD_MS = 60 * 60_000
/** As often as the API server reads the file of its client CAs. */
const CLIENT_CA_MS = 60_000

export type OpenTlsDeps = {
  readonly keyring: Keyring
  readonly log: Logger
  /** Reads the CAs of client certificates; null where no client has one. */
  readonly readClientCa?: (() => Promise<readonly string[]>) | null
  readonly clientCaMs?: number
}

/** Rejects when the files of a given certificate cannot be read; the error names the setting. */
export async function openTls(config: TlsConfig, deps: OpenTlsDeps): Promise<Tls> {
  const { keyring, log, readClientCa = null, clientCaMs = CLIENT_CA_MS } = deps
  const next = certificates(config, keyring)
  const everyMs = 'hosts' in config ? RENEW_AFTER_MS : REREAD_MS
  let certificate = await next()
  // An empty list verifies no certificate; without a list every public CA would count.
  let clientCa = readClientCa === null ? null : await readClientCa().catch((): readonly string[] => [])
  return {
    certificate,
    clientCa,
    keepFresh(server) {
      const update = () => server.setSecureContext({ ...certificate, ...clientCaOptions(clientCa) })
      const renew = async () => {
        certificate = await next()
        update()
      }
      const reread = async () => {
        const found = (await readClientCa?.()) ?? null
        if (String(found) === String(clientCa)) return
        clientCa = found
        update()
      }
      // The last good one stays in use: a file that is being replaced is read the next time.
      const failed = (error: unknown) => log.error({ err: error }, 'certificate not renewed')
      const timers = [setInterval(() => void renew().catch(failed), everyMs).unref()]
      if (readClientCa !== null)
        timers.push(setInterval(() => void reread().catch(failed), clientCaMs).unref())
      server.once('close', () => timers.forEach(clearInterval))
    },
  }
}

/** An intermediate CA counts without its root, as it does for the API server. */
export function clientCaOptions(clientCa: readonly string[] | null) {
  return clientCa === null ? {} : { ca: [...clientCa], allowPartialTrustChain: true }
}

function certificates(config: TlsConfig, keyring: Keyring): () => Promise<ServerCertificate> {
  if ('certFile' in config) {
    return async () => ({
      cert: await readPem(config.certFile, 'TLS_CERT_FILE'),
      key: await readPem(config.keyFile, 'TLS_KEY_FILE'),
    })
  }
  const authority = createServerCa(keyring, Date.now())
  return async () => issueServerCertificate(authority, config.hosts, Date.now())
}

async function readPem(path: string, setting: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error)
    throw new Error(`${setting}: cannot read ${path} (${code}): mount the file or change the setting`, {
      cause: error,
    })
  }
}
