import {
  createECDH,
  createHash,
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  randomBytes,
  sign,
  verify,
} from 'node:crypto'
import { ChaperoneError } from '../../core/errors.ts'
import {
  authorityName,
  intermediateCertificate,
  rootCertificate,
  type Signer,
} from '../../core/x509/certificate.ts'
import { readCertificateRequest } from '../../core/x509/certificate-request.ts'
import { pem } from '../../core/x509/der.ts'
import type { Keyring } from './keyring.ts'

export type Issued = {
  /** The sidecar's certificate, then the root: PEM. */
  readonly chain: string
  /** Epoch ms. */
  readonly notAfterMs: number
}

export type GatewayAuthority = {
  /** The root that governed pods trust: PEM. */
  readonly caPem: string
  /** Signs the key of a PKCS#10 request (PEM) for a day. Throws `validation` for what is none. */
  issue(request: string, subject: string, nowMs: number): Issued
}

const DAY_MS = 86_400_000
const ROOT_MS = 3_650 * DAY_MS
const INTERMEDIATE_MS = DAY_MS
/** X.509 caps a common name at 64 characters. */
const MAX_NAME = 64

/**
 * The root of what governed pods are shown. Its key is derived from the master key: every replica has the same one,
 * it rests nowhere, and it never leaves this process. A sidecar makes a key of its own and has it signed.
 */
export function createGatewayAuthority(keyring: Keyring, nowMs: number): GatewayAuthority {
  const key = deriveKey(keyring)
  const spki = new Uint8Array(createPublicKey(key).export({ type: 'spki', format: 'der' }))
  const keyId = keyIdOf(spki)
  const signer: Signer = {
    sign: (body) => sign('sha256', body, key),
    randomSerial: () => randomBytes(16),
  }
  const commonName = `Chaperone CA ${Buffer.from(keyId).toString('hex', 0, 4)}`
  const period = { nowMs, notAfterMs: nowMs + ROOT_MS }
  const root = rootCertificate(signer, { spki, keyId }, { commonName, pathLength: 1, ...period })
  const caPem = pem('CERTIFICATE', root)
  const issuer = { ...signer, keyId, name: authorityName(commonName) }
  return {
    caPem,
    issue(request, subject, now) {
      const asked = readProved(request)
      const notAfterMs = now + INTERMEDIATE_MS
      const given = { commonName: `Chaperone ${subject}`.slice(0, MAX_NAME), nowMs: now, notAfterMs }
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

/** Almost every 32 bytes are a private key of P-256; the rest, one in four thousand million, are passed over. */
function deriveKey(keyring: Keyring): KeyObject {
  const ecdh = createECDH('prime256v1')
  for (let attempt = 0; ; attempt++) {
    const secret = keyring.derive(`gateway authority ${attempt}`)
    if (secret.compare(ORDER) >= 0 || secret.every((byte) => byte === 0)) continue
    ecdh.setPrivateKey(secret)
    const point = ecdh.getPublicKey()
    const jwk = {
      kty: 'EC',
      crv: 'P-256',
      d: secret.toString('base64url'),
      x: base64url(point, 1),
      y: base64url(point, 33),
    }
    return createPrivateKey({ key: jwk, format: 'jwk' })
  }
}

/** The number of points of the curve: a private key is smaller. */
const ORDER = Buffer.from('ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551', 'hex')

function base64url(point: Buffer, from: number): string {
  return point.subarray(from, from + 32).toString('base64url')
}

/** RFC 5280 method 1: SHA-1 of the public key bits. It names the key and protects nothing. */
function keyIdOf(spki: Uint8Array): Uint8Array {
  return new Uint8Array(createHash('sha1').update(spki.subarray(-65)).digest())
}
