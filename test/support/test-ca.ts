import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import { isIP } from 'node:net'

/** A throwaway authority for tests: written by hand, so that tests do not trust the product's own minting. */
export type TestCa = {
  /** PEM of the root. */
  readonly cert: string
  /** A leaf for these names and IP addresses (the first is the common name), PEM. */
  issue(...names: string[]): { readonly key: string; readonly cert: string }
}

const OID_COMMON_NAME = '550403'
const OID_ECDSA_SHA256 = '2a8648ce3d040302'
const OID_SUBJECT_ALT_NAME = '551d11'
const OID_BASIC_CONSTRAINTS = '551d13'
const OID_KEY_USAGE = '551d0f'
const DAY_MS = 86_400_000

export function createTestCa(name = `test root ${randomBytes(4).toString('hex')}`): TestCa {
  const root = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const rootExtensions = [
    extension(OID_BASIC_CONSTRAINTS, seq(der(0x01, Buffer.from([0xff])))),
    extension(OID_KEY_USAGE, der(0x03, Buffer.from([1, 0x06]))),
  ]
  const cert = certificate({
    issuer: name,
    subject: name,
    key: root.publicKey,
    signer: root.privateKey,
    extensions: rootExtensions,
  })
  return {
    cert,
    issue(...names) {
      const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
      const leaf = certificate({
        issuer: name,
        subject: names[0] ?? 'leaf',
        key: pair.publicKey,
        signer: root.privateKey,
        extensions: [extension(OID_SUBJECT_ALT_NAME, seq(...names.map(generalName)))],
      })
      return { key: pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), cert: leaf }
    },
  }
}

type CertificateInput = {
  readonly issuer: string
  readonly subject: string
  readonly key: KeyObject
  readonly signer: KeyObject
  readonly extensions: readonly Buffer[]
}

function certificate({ issuer, subject, key, signer, extensions }: CertificateInput): string {
  const algorithm = seq(oid(OID_ECDSA_SHA256))
  const body = seq(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.concat([Buffer.from([0x01]), randomBytes(15)])),
    algorithm,
    commonName(issuer),
    seq(time(Date.now() - DAY_MS), time(Date.now() + 30 * DAY_MS)),
    commonName(subject),
    key.export({ type: 'spki', format: 'der' }),
    der(0xa3, seq(...extensions)),
  )
  const signature = sign('sha256', body, { key: signer, dsaEncoding: 'der' })
  const whole = seq(body, algorithm, der(0x03, Buffer.concat([Buffer.from([0]), signature])))
  const lines = whole.toString('base64').match(/.{1,64}/g) ?? []
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`
}

function generalName(name: string): Buffer {
  if (isIP(name) === 4) return der(0x87, Buffer.from(name.split('.').map(Number)))
  return der(0x82, Buffer.from(name, 'latin1'))
}

function extension(id: string, value: Buffer): Buffer {
  return seq(oid(id), der(0x04, value))
}

function commonName(name: string): Buffer {
  return seq(der(0x31, seq(oid(OID_COMMON_NAME), der(0x0c, Buffer.from(name)))))
}

function time(ms: number): Buffer {
  const text = new Date(ms).toISOString().replace(/[-:T]/g, '').slice(2, 14)
  return der(0x17, Buffer.from(`${text}Z`))
}

function oid(hex: string): Buffer {
  return der(0x06, Buffer.from(hex, 'hex'))
}

function seq(...parts: readonly Buffer[]): Buffer {
  return der(0x30, Buffer.concat(parts))
}

function der(tag: number, content: Buffer): Buffer {
  const length = content.length
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), content])
  if (length < 0x100) return Buffer.concat([Buffer.from([tag, 0x81, length]), content])
  return Buffer.concat([Buffer.from([tag, 0x82, length >> 8, length & 0xff]), content])
}
