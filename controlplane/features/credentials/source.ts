import type { ConnectorCredential } from '../../../core/wire/credentials.ts'
import type { ConnectorRow } from '../connectors/rows.ts'

/** Returns where the credential of a connector is kept, and how it is set where the API cannot set it. */
export function credentialSource(row: ConnectorRow): ConnectorCredential {
  if (row.source === 'api') return { source: 'connector', name: row.name, remedy: null }
  const { secretRef, vault } = row.spec.credential ?? {}
  if (vault !== undefined && row.source === 'file') return { source: 'vault', name: vault, remedy: null }
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

type SecretKey = { readonly namespace: string; readonly name: string; readonly key: string }

/** Returns the command that creates a Secret. The shell reads the value, so that no history and no process list has it. */
function createSecret({ namespace, name, key }: SecretKey): string {
  return `kubectl create secret generic ${quoted(name)} -n ${quoted(namespace)} --from-file=${quoted(key)}=/dev/stdin`
}

/** Quotes a name for the shell. The schemas admit only plain names, but readers paste the command. */
function quoted(name: string): string {
  return /^[-._a-zA-Z0-9]+$/.test(name) ? name : `'${name.replaceAll("'", `'\\''`)}'`
}
