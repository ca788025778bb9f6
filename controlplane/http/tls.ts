import { readFile } from 'node:fs/promises'
import type { Server } from 'node:https'
import type { Logger } from 'pino'
import type { TlsConfig } from '../config.ts'
import type { Keyring } from '../crypto/keyring.ts'
import {
  createServerAuthority,
  issueServerCertificate,
  RENEW_AFTER_MS,
  type ServerCertificate,
} from '../crypto/server-certificate.ts'

/** What an HTTPS server shows, and how long it may show it before it asks again. */
export type Tls = {
  readonly certificate: ServerCertificate
  /** Gives the server a fresh certificate from time to time, until it closes. */
  keepFresh(server: Server): void
}

const REREAD_MS = 60 * 60_000

/** Rejects when the files of a given certificate cannot be read; the error names the setting. */
export async function openTls(config: TlsConfig, keyring: Keyring, log: Logger): Promise<Tls> {
  const next = certificates(config, keyring)
  const everyMs = 'hosts' in config ? RENEW_AFTER_MS : REREAD_MS
  return {
    certificate: await next(),
    keepFresh(server) {
      const renew = () =>
        next().then(
          (certificate) => server.setSecureContext(certificate),
          // The one that is shown goes on being shown: a file that is just being replaced is read the next time.
          (error: unknown) => log.error({ err: error }, 'certificate not renewed'),
        )
      const timer = setInterval(() => void renew(), everyMs).unref()
      server.once('close', () => clearInterval(timer))
    },
  }
}

function certificates(config: TlsConfig, keyring: Keyring): () => Promise<ServerCertificate> {
  if ('certFile' in config) {
    return async () => ({
      cert: await readPem(config.certFile, 'TLS_CERT_FILE'),
      key: await readPem(config.keyFile, 'TLS_KEY_FILE'),
    })
  }
  const authority = createServerAuthority(keyring, Date.now())
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
