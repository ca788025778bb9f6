import { createPublicKey, verify } from 'node:crypto'
import { ChaperoneError } from '../../core/errors.ts'
import { intermediateCertificate } from '../../core/x509/certificate.ts'
import { readCertificateRequest } from '../../core/x509/certificate-request.ts'
import { pem } from '../../core/x509/der.ts'
import { permittedNames } from '../../core/x509/name-constraints.ts'
import { createDerivedCa, keyIdOf } from './derived-ca.ts'
import type { Keyring } from './keyring.ts'

export type Issued = {
  /** The sidecar's certificate, then the root: PEM. */
  readonly chain: string
  /** Epoch ms. */
  readonly notAfterMs: number
}

export type GatewayCa = {
  /** The root that governed pods trust: PEM. */
  readonly caPem: string
  /** Signs the key of a PKCS#10 request (PEM) for a day. Throws `validation` for any other text. */
  issue(request: string, terms: IssueTerms): Issued
}

export type IssueTerms = {
  /** The agent or gateway that holds the key. */
  readonly subject: string
  /** The hosts whose leaves clients accept, everything below them included. None: no host at all. */
  readonly hosts: Iterable<string>
  readonly nowMs: number
}

const DAY_MS = 86_400_000
const INTERMEDIATE_MS = DAY_MS
/** X.509 caps a common name at 64 characters. */
const MAX_NAME = 64

/**
 * The root of what governed pods are shown. Its key is derived from the master key: every replica has the same one,
 * it rests nowhere, and it never leaves this process. A sidecar makes a key of its own and has it signed.
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
      const asked = readProved(request)
      const notAfterMs = now + INTERMEDIATE_MS
      const commonName = `Chaperone ${subject}`.slice(0, MAX_NAME)
      const given = { commonName, permitted: permittedNames(hosts), nowMs: now, notAfterMs }
      const certificate = intermediateCertificate(issuer, { spki: asked, keyId: keyIdOf(asked) }, given)
      return { chain: pem('CERTIFICATE', certificate) + caPem, notAfterMs }
    },
  }
}

/** The public key of a request whose signature proves that its sender has the private one. */
function readProved(text: string): Uint8Array {
  const body = /-----BEGIN CERTIFICATE REQUEST-----([^-]+)-----END CERTIFICATE REQUEST-----/.exec(text)?.[1]
  const request = readCertificateRequest(Buffer.from(body ?? '', 'base64'))
  if (request === null) {
    throw new ChaperoneError('validation', { detail: 'request: a PKCS#10 request for a P-256 key, as PEM' })
  }
  const key = createPublicKey({ key: Buffer.from(request.spki), format: 'der', type: 'spki' })
  if (verify('sha256', request.info, key, request.signature)) return request.spki
  throw new ChaperoneError('validation', { detail: 'request: it is not signed with the key that it is for' })
}
