import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import { isIP } from 'node:net'

/**
 * Certificate authority for tests. It has its own X.509 code, so that tests do not rely on the certificates of the product.
 */
export type TestCa = {
  /** Root certificate in PEM. */
  readonly cert: string
  /** Issues a server certificate for these names and IP addresses, in PEM. The first name is the common name. */
  issue(...names: string[]): { readonly key: string; readonly cert: string }
  /** Issues a client certificate in PEM. */
  issueTo(client: TestClient): { readonly key: string; readonly cert: string }
}

/** Subject of a client certificate. Several names become several attributes of the subject. */
export type TestClient = {
  readonly commonNames: readonly string[]
  readonly organizations?: readonly string[]
  /** End of the validity in epoch milliseconds. Default: in 30 days. */
  readonly notAfterMs?: number
  /** Extended key usage of the certificate. Default: `client`. */
  readonly usage?: 'client' | 'server'
}

const OID_COMMON_NAME = '550403'
const OID_ORGANIZATION = '55040a'
const OID_EXTENDED_KEY_USAGE = '551d25'
const USAGES = { server: '2b06010505070301', client: '2b06010505070302' }
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
    subject: commonName(name),
    key: root.publicKey,
    signer: root.privateKey,
    extensions: rootExtensions,
  })
  const leaf = (of: Pick<CertificateInput, 'subject' | 'extensions' | 'notAfterMs'>) => {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
    return { key, cert: certificate({ ...of, issuer: name, key: publicKey, signer: root.privateKey }) }
  }
  return {
    cert,
    issue: (...names) =>
      leaf({
        subject: commonName(names[0] ?? 'leaf'),
        extensions: [extension(OID_SUBJECT_ALT_NAME, seq(...names.map(generalName)))],
      }),
    issueTo: ({ commonNames, organizations = [], notAfterMs, usage = 'client' }) =>
      leaf({
        subject: seq(
          ...organizations.map((value) => attribute(OID_ORGANIZATION, value)),
          ...commonNames.map((value) => attribute(OID_COMMON_NAME, value)),
        ),
        ...(notAfterMs === undefined ? {} : { notAfterMs }),
        extensions: [extension(OID_EXTENDED_KEY_USAGE, seq(oid(USAGES[usage])))],
      }),
  }
}

type CertificateInput = {
  readonly issuer: string
  readonly subject: Buffer
  readonly notAfterMs?: number
  readonly key: KeyObject
  readonly signer: KeyObject
  readonly extensions: readonly Buffer[]
}

function certificate({
  issuer,
  subject,
  key,
  signer,
  extensions,
  notAfterMs = Date.now() + 30 * DAY_MS,
}: CertificateInput): string {
  const algorithm = seq(oid(OID_ECDSA_SHA256))
  const body = seq(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.concat([Buffer.from([0x01]), randomBytes(15)])),
    algorithm,
    commonName(issuer),
    seq(time(Date.now() - DAY_MS), time(notAfterMs)),
    subject,
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
  return seq(attribute(OID_COMMON_NAME, name))
}

function attribute(id: string, value: string): Buffer {
  return der(0x31, seq(oid(id), der(0x0c, Buffer.from(value))))
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
