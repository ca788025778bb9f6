import { createPublicKey, verify } from 'node:crypto'
import { ChaperoneError } from '../../core/errors.ts'
import { intermediateCertificate } from '../../core/x509/certificate.ts'
import { readCertificateRequest } from '../../core/x509/certificate-request.ts'
import { pem } from '../../core/x509/der.ts'
import { permittedNames } from '../../core/x509/name-constraints.ts'
import { createDerivedCa, keyIdOf } from './derived-ca.ts'
import type { Keyring } from './keyring.ts'

export type IssuedCertificate = {
  /** The intermediate certificate of the sidecar, then the root, PEM. */
  readonly chain: string
  /** Expiry of the certificate in epoch milliseconds. */
  readonly notAfterMs: number
}

export type GatewayCa = {
  /** The root certificate that governed pods trust, PEM. */
  readonly caPem: string
  /**
   * Issues an intermediate certificate for a PKCS#10 request (PEM), valid for a day. Throws `validation` for an invalid
   * request.
   */
  issue(request: string, terms: IssueTerms): IssuedCertificate
}

export type IssueTerms = {
  /** The agent or gateway that holds the key. */
  readonly subject: string
  /** Permitted DNS names, including their subdomains. An empty list permits no host. */
  readonly hosts: Iterable<string>
  readonly nowMs: number
}

const DAY_MS = 86_400_000
const INTERMEDIATE_MS = DAY_MS
/** Maximum length of a common name in X.509. */
const MAX_NAME = 64

/**
 * Creates the root CA of the certificates that sidecars present to governed pods. Each sidecar creates its own key and
 * requests a certificate.
 */
export function createGatewayCa(keyring: Keyring, nowMs: number): GatewayCa {
  const { caPem, issuer } = createDerivedCa(keyring, {
    purpose: 'gateway authority',
    name: 'Chaperone CA',
    pathLength: 1,
    nowMs,
  })
  return {
    caPem,
    issue(request, { subject, hosts, nowMs: now }) {
      const spki = readVerifiedKey(request)
      const notAfterMs = now + INTERMEDIATE_MS
      const commonName = `Chaperone ${subject}`.slice(0, MAX_NAME)
      const given = { commonName, permitted: permittedNames(hosts), nowMs: now, notAfterMs }
      const certificate = intermediateCertificate(issuer, { spki, keyId: keyIdOf(spki) }, given)
      return { chain: pem('CERTIFICATE', certificate) + caPem, notAfterMs }
    },
  }
}

/** Returns the public key of a request after verifying its signature, which proves possession of the private key. */
function readVerifiedKey(text: string): Uint8Array {
  const body = /-----BEGIN CERTIFICATE REQUEST-----([^-]+)-----END CERTIFICATE REQUEST-----/.exec(text)?.[1]
  const request = readCertificateRequest(Buffer.from(body ?? '', 'base64'))
  if (request === null) {
    throw new ChaperoneError('validation', {
      detail: 'request: must be a PKCS#10 request for a P-256 key, PEM',
    })
  }
  const key = createPublicKey({ key: Buffer.from(request.spki), format: 'der', type: 'spki' })
  if (verify('sha256', request.info, key, request.signature)) return request.spki
  throw new ChaperoneError('validation', { detail: 'request: the signature does not match the public key' })
}
