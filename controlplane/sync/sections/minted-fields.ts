import type { ConnectorEntry } from '../../../core/wire/gateway/sync.ts'
import type { Keyring } from '../../crypto/keyring.ts'
import { sealedPlace } from '../../crypto/sealed-places.ts'
import type { ConnectorRow } from '../../features/connectors/rows.ts'
import {
  hasMinted,
  isNarrowed,
  type MintedRow,
  mintedKind,
  sourceHash,
  statedScope,
  storedVersion,
} from '../../features/credentials/rows.ts'

type Deps = { readonly keyring: Keyring; readonly minted: ReadonlyMap<string, MintedRow> }

/**
 * Returns the fields of the short-lived credential that gateways receive in place of the stored credential. Returns no
 * fields for a connector without short-lived credentials, and for a connector without a stored credential.
 */
export function mintedFields(
  row: ConnectorRow,
  stored: string | null,
  { keyring, minted }: Deps,
): Partial<Pick<ConnectorEntry, 'secret' | 'minted' | 'credential'>> {
  if (stored === null || !hasMinted(row)) return {}
  const found = minted.get(row.id)
  const source = sourceHash(keyring, row.spec.credential, stored)
  const stated = { kind: mintedKind(row), source, ...narrowing(row) }
  const scope = statedScope(row)
  const describe = (version: number) => ({
    credential: {
      source: stated.kind,
      version: String(version),
      ...(scope.length === 0 ? {} : { scope }),
    },
  })
  // A credential that was minted from an earlier specification or an earlier stored credential is not sent.
  if (found === undefined || found.sourceHash !== source)
    return { secret: null, ...describe(0), minted: { serial: 0, expires_at: null, error: null, ...stated } }
  const { secret: sealed, serial, expiresAt, error } = found
  const secret = sealed === null ? null : keyring.open(sealed, sealedPlace.minted(row.id, 'secret'))
  // A gateway uses a minted credential without an expiry like a stored credential.
  if (secret !== null && expiresAt === null && error === null) return { secret, ...describe(serial) }
  return {
    secret,
    ...describe(serial),
    minted: { serial, expires_at: expiresAt?.toISOString() ?? null, error, ...stated },
  }
}

type Described = { readonly keyring: Pick<Keyring, 'derive'>; readonly source: string }

/** Returns the field that describes a stored secret in records. Returns no field without a secret. */
export function describedSecret(
  { id }: ConnectorRow,
  secret: string | null,
  { keyring, source }: Described,
): Pick<ConnectorEntry, 'credential'> {
  return secret === null ? {} : { credential: { source, version: storedVersion(keyring, id, secret) } }
}

/** Returns the name of the source from which the stored credential of the connector comes. */
export function storedSource({ source, spec }: ConnectorRow): string {
  if (source === 'api') return 'api'
  return source === 'file' && spec.credential?.vault !== undefined ? 'vault' : 'secretRef'
}

/**
 * Returns the fields by which a gateway requests tokens that are narrowed to a single request. Returns no
 * fields for a connector without narrowed tokens.
 */
function narrowing(
  row: ConnectorRow,
): Partial<Pick<NonNullable<ConnectorEntry['minted']>, 'narrow' | 'scopesByAction'>> {
  const scopesByAction = row.spec.credential?.oauth2?.scopesByAction ?? []
  return {
    ...(isNarrowed(row) ? { narrow: true } : {}),
    ...(scopesByAction.length === 0 ? {} : { scopesByAction }),
  }
}
