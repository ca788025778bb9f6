import { readFileSync } from 'node:fs'
import type { ConnectionOptions } from 'node:tls'

/** PEM files that verify the database server and identify this client. Null means that a file is not configured. */
export type DatabaseTlsFiles = {
  /** Certificate authority of the server. When null, the public root certificates are used. */
  readonly caFile: string | null
  readonly certFile: string | null
  readonly keyFile: string | null
}

const PARAMETERS = ['ssl', 'sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'uselibpqcompat']
/** Modes that verify the certificate and the host name. libpq's `require` and `prefer` would verify less. */
const FULL = ['', 'prefer', 'require', 'verify-full']

/**
 * Returns the URL without its TLS parameters, and TLS options that replace these parameters. Returns null when no
 * files are configured; the parameters of the URL then apply. Throws when a file cannot be read, and when `sslmode`
 * contradicts the files. Each new connection reads the files again, because certificates are renewed. If a connection
 * cannot read a file, the connection uses the content that was read last.
 */
export function databaseTls(
  url: string,
  { caFile, certFile, keyFile }: DatabaseTlsFiles,
): { readonly url: string; readonly ssl: ConnectionOptions } | null {
  if (caFile === null && certFile === null) return null
  const stripped = new URL(url)
  const mode = stripped.searchParams.get('sslmode') ?? ''
  if (mode !== 'verify-ca' && !FULL.includes(mode))
    throw new Error(
      `sslmode of DATABASE_URL is ${mode}, which verifies no certificate, but DATABASE_CA_FILE or DATABASE_CERT_FILE is set. Set sslmode to verify-full or verify-ca.`,
    )
  for (const name of PARAMETERS) stripped.searchParams.delete(name)
  const ssl: ConnectionOptions = { rejectUnauthorized: true }
  if (mode === 'verify-ca') ssl.checkServerIdentity = () => undefined
  for (const [name, file] of Object.entries({ ca: caFile, cert: certFile, key: keyFile }))
    if (file !== null) Object.defineProperty(ssl, name, { ...renewed(file), ...SHOWN })
  return { url: stripped.href, ssl }
}

/**
 * Reads the paths of the files from environment variables.
 * @param text Returns the value of a variable; null when the variable is not set.
 */
export function readDatabaseTls(
  text: (name: 'DATABASE_CA_FILE' | 'DATABASE_CERT_FILE' | 'DATABASE_KEY_FILE') => string | null,
): DatabaseTlsFiles {
  const [caFile, certFile, keyFile] = [
    text('DATABASE_CA_FILE'),
    text('DATABASE_CERT_FILE'),
    text('DATABASE_KEY_FILE'),
  ]
  if ((certFile === null) !== (keyFile === null))
    throw new Error('DATABASE_CERT_FILE and DATABASE_KEY_FILE belong together: set both or neither')
  return { caFile, certFile, keyFile }
}

/**
 * Attributes of the properties that read the files. The properties are enumerable, because `pg` copies the options
 * for each connection and thus reads them. The properties are configurable, because `pg` redefines `key` to hide it.
 */
const SHOWN = { enumerable: true, configurable: true }

function renewed(file: string): { get(): string } {
  let content = readFileSync(file, 'utf8')
  return {
    get() {
      try {
        content = readFileSync(file, 'utf8')
      } catch {
        // The file cannot be read while it is being replaced. In this case, the content that was read last is used.
      }
      return content
    },
  }
}
