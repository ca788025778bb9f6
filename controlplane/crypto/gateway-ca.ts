import { createPublicKey, verify } from 'node:crypto'
import { ChaperoneError } from '../../core/errors.ts'
import { intermediateCertificate } from '../../core/x509/certificate.ts'
import { readCertificateRequest } from '../../core/x509/certificate-request.ts'
import { pem } from '../../core/x509/der.ts'
import { permittedNames } from '../../core/x509/name-constraints.ts'
import { createDerivedCa, keyIdOf } from './derived-ca.ts'
import type { Keyring } from './keyring.ts'

export type IssuedCertificate = {
  /** The intermediate certificate of the sidecar, followed by the root certificate, PEM. */
  readonly chain: string
  /** Expiry of the intermediate certificate in Unix milliseconds. */
  readonly notAfterMs: number
}

export type GatewayCa = {
  /** Root certificate, PEM. Governed pods trust this certificate. */
  readonly caPem: string
  /**
   * Issues an intermediate certificate for a PKCS #10 request (PEM). The certificate is valid for a day. Throws
   * `validation` for an invalid request.
   */
  issue(request: string, terms: IssueTerms): IssuedCertificate
}

export type IssueTerms = {
  /** Name of the agent or gateway that holds the private key. */
  readonly subject: string
  /**
   * DNS names for which the intermediate CA may issue certificates, including subdomains. An empty list permits no
   * host.
   */
  readonly hosts: Iterable<string>
  readonly nowMs: number
}

const DAY_MS = 86_400_000
const INTERMEDIATE_MS = DAY_MS
/** Maximum length of a common name in X.509, in characters. */
const MAX_NAME = 64

/**
 * Creates the root CA above the certificates that sidecars present to governed pods. Each sidecar creates its own key
 * and requests an intermediate certificate.
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

/**
 * Verifies the signature of a certificate request and returns its public key. The signature proves possession of the
 * private key.
 */
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
