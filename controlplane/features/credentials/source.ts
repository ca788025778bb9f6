import { type LocalSource, localSourceOf } from '../../../core/crd/credentials/local-source-spec.ts'
import type { ConnectorView } from '../../../core/wire/connectors.ts'
import type { ConnectorCredential } from '../../../core/wire/credentials.ts'
import type { ConnectorRow } from '../connectors/rows.ts'
import { hasMinted, type MintedRow, mintedKind } from './rows.ts'

/**
 * Returns where the credential of a connector is stored. `remedy`: how to set the credential there; null when the API
 * can set it.
 */
export function credentialSource(row: ConnectorRow): ConnectorCredential {
  if (row.source === 'api') return { source: 'connector', name: row.name, remedy: null }
  const { secretRef, vault } = row.spec.credential ?? {}
  if (vault !== undefined && row.source === 'file') return { source: 'vault', name: vault, remedy: null }
  const local = localSourceOf(row.spec.credential)
  if (local !== null) return localCredential(local)
  return manifestCredential(row, secretRef)
}

function localCredential({ kind, subject }: LocalSource): ConnectorCredential {
  return { source: kind, name: subject, remedy: REMEDIES[kind](subject) }
}

type SecretRef = NonNullable<ConnectorRow['spec']['credential']>['secretRef']

function manifestCredential(row: ConnectorRow, secretRef: SecretRef): ConnectorCredential {
  const [namespace = '', name = ''] = row.name.split('/')
  if (secretRef !== undefined)
    return {
      source: 'secret',
      name: `${namespace}/${secretRef.name}`,
      remedy:
        row.source === 'kubernetes'
          ? createSecret({ namespace, ...secretRef })
          : `Set ${secretRef.key} of the Secret ${secretRef.name} in the manifests folder, or name a stored credential in ${row.managedBy ?? 'the manifest'}: credential: { vault: ${name} }`,
    }
  return {
    source: 'none',
    name: null,
    remedy:
      row.source === 'kubernetes'
        ? `Add to the Connector: credential: { secretRef: { name: ${name} } }. Then: ${createSecret({ namespace, name, key: 'token' })}`
        : `Add to ${row.managedBy ?? 'the manifest'}: credential: { vault: ${name} }. Then: chaperone credential set ${name}`,
  }
}

const REMEDIES = {
  env: (name: string) => `Set the environment variable ${name}, and start Chaperone again.`,
  file: (path: string) => `Write the credential to ${path}.`,
  exec: (command: string) =>
    `Run ${command} in a terminal with the arguments of the manifest, and sign in if it asks for it.`,
} as const

/** Returns a source as a phrase for sentences and lists, such as `the command gh`. */
export function sourceText({ source, name }: Pick<ConnectorCredential, 'source' | 'name'>): string {
  return `${SOURCE_TEXT[source]}${name === null ? '' : ` ${name}`}`
}

const SOURCE_TEXT = {
  vault: 'the stored credential',
  secret: 'the Secret',
  connector: 'the connector',
  env: 'the environment variable',
  file: 'the file',
  exec: 'the command',
  none: 'no source',
} as const satisfies Record<ConnectorCredential['source'], string>

/**
 * Returns the state of the short-lived credential of a connector; null for a connector whose stored credential itself
 * is sent.
 */
export function mintedView(row: ConnectorRow, minted: MintedRow | undefined): ConnectorView['minted'] {
  if (!hasMinted(row)) return null
  return {
    kind: mintedKind(row),
    issued_at: minted?.issuedAt?.toISOString() ?? null,
    expires_at: minted?.expiresAt?.toISOString() ?? null,
    error: minted?.error ?? null,
    failed_at: minted?.failedAt?.toISOString() ?? null,
  }
}

type SecretKey = { readonly namespace: string; readonly name: string; readonly key: string }

/**
 * Returns the command that creates a Secret. The command reads the value from standard input, so that neither the shell
 * history nor the process list contains the value.
 */
function createSecret({ namespace, name, key }: SecretKey): string {
  return `kubectl create secret generic ${quoted(name)} -n ${quoted(namespace)} --from-file=${quoted(key)}=/dev/stdin`
}

/**
 * Quotes a name for the shell, because readers paste the command. The schemas admit only names without special
 * characters.
 */
function quoted(name: string): string {
  return /^[-._a-zA-Z0-9]+$/.test(name) ? name : `'${name.replaceAll("'", `'\\''`)}'`
}
