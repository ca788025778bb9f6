import { createHash, generateKeyPairSync } from 'node:crypto'
import { leafTemplate } from '../../core/x509/certificate.ts'
import { pem } from '../../core/x509/der.ts'
import { createDerivedCa, type DerivedCa } from './derived-ca.ts'
import type { Keyring } from './keyring.ts'

/** A certificate and its private key, both PEM. */
export type ServerCertificate = { readonly cert: string; readonly key: string }

const LEAF_MS = 7 * 86_400_000
/** Age in milliseconds at which a certificate is renewed. A third of its lifetime then remains. */
export const RENEW_AFTER_MS = (LEAF_MS * 2) / 3

/** Creates the CA that issues the control plane's server certificate. Clients inside a cluster trust this CA. */
export function createServerCa(keyring: Keyring, nowMs: number): DerivedCa {
  return createDerivedCa(keyring, {
    purpose: 'server authority',
    name: 'Chaperone control plane',
    pathLength: 0,
    nowMs,
  })
}

/**
 * Issues a server certificate for these host names, valid for a week, with a new private key. The private key does not
 * leave this process.
 */
export function issueServerCertificate(
  { issuer }: DerivedCa,
  hosts: readonly [string, ...string[]],
  nowMs: number,
): ServerCertificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const spki = publicKey.export({ type: 'spki', format: 'der' })
  // A P-256 SubjectPublicKeyInfo (DER) ends with the 65 bytes of the uncompressed point.
  const keyId = createHash('sha1').update(spki.subarray(-65)).digest()
  const leaf = leafTemplate(issuer, { spki, keyId })(hosts, { nowMs, notAfterMs: nowMs + LEAF_MS })
  return {
    cert: pem('CERTIFICATE', leaf),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}
