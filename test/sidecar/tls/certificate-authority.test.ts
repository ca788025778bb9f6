import { execFile } from 'node:child_process'
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { rootCertificates } from 'node:tls'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import {
  type CertificateAuthorityFiles,
  loadCertificateAuthority,
} from '../../../sidecar/tls/certificate-authority.ts'

const run = promisify(execFile)
const DAY_MS = 86_400_000

async function folder(): Promise<CertificateAuthorityFiles & AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), 'authority-'))
  return {
    path,
    certFile: join(path, 'ca.crt'),
    keyFile: join(path, 'keys', 'ca.key'),
    bundleFile: join(path, 'bundle.crt'),
    [Symbol.asyncDispose]: () => rm(path, { recursive: true }),
  }
}

describe('the certificate authority', () => {
  it('is made once, with a key that only its owner reads, and loaded from then on', async () => {
    await using files = await folder()
    const first = await loadCertificateAuthority(files)
    const second = await loadCertificateAuthority(files)
    expect(second.caPem).toBe(first.caPem)
    expect((await stat(files.keyFile)).mode & 0o777).toBe(0o600)
    expect(createPrivateKey(await readFile(files.keyFile)).asymmetricKeyDetails?.namedCurve).toBe(
      'prime256v1',
    )
    const root = new X509Certificate(first.caPem)
    expect(root.ca).toBe(true)
    expect(root.verify(root.publicKey)).toBe(true)
  })

  it('has another name and key in every installation', async () => {
    await using a = await folder()
    await using b = await folder()
    const [first, second] = [await loadCertificateAuthority(a), await loadCertificateAuthority(b)]
    expect(new X509Certificate(first.caPem).subject).not.toBe(new X509Certificate(second.caPem).subject)
  })

  it('writes a bundle of every public root and its own', async () => {
    await using files = await folder()
    const { caPem } = await loadCertificateAuthority(files)
    const bundle = await readFile(files.bundleFile, 'utf8')
    expect(bundle.match(/BEGIN CERTIFICATE/g)).toHaveLength(rootCertificates.length + 1)
    expect(bundle).toContain(caPem.trim())
  })

  it('creates the certificate again when only the key survived a crash', async () => {
    await using files = await folder()
    await loadCertificateAuthority(files)
    const key = await readFile(files.keyFile, 'utf8')
    await rm(files.certFile)
    const { caPem } = await loadCertificateAuthority(files)
    expect(new X509Certificate(caPem).checkPrivateKey(createPrivateKey(key))).toBe(true)
  })

  it('refuses mismatched files, and names the file and a remedy', async () => {
    await using files = await folder()
    await using others = await folder()
    await loadCertificateAuthority(files)
    await loadCertificateAuthority(others)
    await writeFile(files.keyFile, await readFile(others.keyFile))
    await expect(loadCertificateAuthority(files)).rejects.toThrow(
      /ca\.crt and .*ca\.key do not belong together/,
    )
    await rm(files.keyFile)
    await expect(loadCertificateAuthority(files)).rejects.toThrow(
      /ca\.crt has no key: restore .*ca\.key, or delete/,
    )
    await expect(loadCertificateAuthority(others, () => Date.now() + 4_000 * DAY_MS)).rejects.toThrow(
      /expired on/,
    )
  })

  it('names the file that cannot be read as a key or a certificate, and what to do', async () => {
    await using files = await folder()
    await loadCertificateAuthority(files)
    const key = await readFile(files.keyFile)
    await writeFile(files.keyFile, 'garbage')
    await expect(loadCertificateAuthority(files)).rejects.toThrow(
      /ca\.key contains no private key.*: restore it, or delete/,
    )
    await writeFile(files.keyFile, key)
    await writeFile(files.certFile, '-----BEGIN CERTIFICATE-----\nZm9v\n-----END CERTIFICATE-----\n')
    await expect(loadCertificateAuthority(files)).rejects.toThrow(
      /ca\.crt contains no certificate.*: restore it, or delete/,
    )
  })
})

describe('a leaf', () => {
  it.each([
    ['api.github.com', 'DNS:api.github.com'],
    ['127.0.0.1', 'IP Address:127.0.0.1'],
    ['::1', 'IP Address:0:0:0:0:0:0:0:1'],
    ['2001:db8::8a2e:370:7334', 'IP Address:2001:DB8:0:0:0:8A2E:370:7334'],
    ['::ffff:10.0.0.1', 'IP Address:0:0:0:0:0:FFFF:A00:1'],
    [`${'a'.repeat(60)}.${'b'.repeat(60)}.example`, `DNS:${'a'.repeat(60)}.${'b'.repeat(60)}.example`],
  ])('for %s names exactly it and passes the strict checks of OpenSSL', async (host, name) => {
    await using files = await folder()
    const leaf = (await loadCertificateAuthority(files)).mint(host)
    const file = join(files.path, 'leaf.crt')
    await writeFile(file, leaf.cert)
    const options = ['verify', '-x509_strict', '-purpose', 'sslserver', '-CAfile', files.certFile, file]
    expect((await run('openssl', options)).stdout).toContain('OK')
    expect(new X509Certificate(leaf.cert).subjectAltName).toBe(name)
  })

  it('is valid from a day before now to seven days after', async () => {
    await using files = await folder()
    const now = Date.UTC(2027, 0, 31, 12)
    const leaf = (await loadCertificateAuthority(files, () => now)).mint('a.example')
    const certificate = new X509Certificate(leaf.cert)
    expect(Date.parse(certificate.validFrom)).toBe(now - DAY_MS)
    expect(Date.parse(certificate.validTo)).toBe(now + 7 * DAY_MS)
    expect(leaf.notAfterMs).toBe(now + 7 * DAY_MS)
  })

  it('has a serial number of its own and the key of the process', async () => {
    await using files = await folder()
    const ca = await loadCertificateAuthority(files)
    const leaves = Array.from({ length: 50 }, () => ca.mint('a.example'))
    expect(new Set(leaves.map((leaf) => new X509Certificate(leaf.cert).serialNumber)).size).toBe(50)
    expect(new Set(leaves.map((leaf) => leaf.key)).size).toBe(1)
  })

  it('signed by an intermediate carries it, and the anchor is the root', async () => {
    await using files = await folder()
    const ext = join(files.path, 'ext')
    const at = (name: string): string => join(files.path, name)
    await writeFile(
      ext,
      'basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign\nsubjectKeyIdentifier=hash\n',
    )
    const ec = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
    await run('openssl', [
      'req',
      '-x509',
      ...ec,
      '-keyout',
      at('root.key'),
      '-out',
      at('root.crt'),
      '-subj',
      '/CN=Corp Root',
      '-days',
      '9',
      '-addext',
      'keyUsage=critical,keyCertSign',
    ])
    await run('openssl', [
      'req',
      ...ec,
      '-keyout',
      at('mid.key'),
      '-out',
      at('mid.csr'),
      '-subj',
      '/CN=Corp Gateways',
    ])
    await run('openssl', [
      'x509',
      '-req',
      '-in',
      at('mid.csr'),
      '-CA',
      at('root.crt'),
      '-CAkey',
      at('root.key'),
      '-CAcreateserial',
      '-out',
      at('mid.crt'),
      '-days',
      '5',
      '-extfile',
      ext,
    ])
    await writeFile(
      at('chain.crt'),
      (await readFile(at('mid.crt'), 'utf8')) + (await readFile(at('root.crt'), 'utf8')),
    )
    const ca = await loadCertificateAuthority({
      certFile: at('chain.crt'),
      keyFile: at('mid.key'),
      bundleFile: files.bundleFile,
    })
    const leaf = ca.mint('a.example')
    await writeFile(at('leaf.crt'), leaf.cert)
    const { stdout } = await run('openssl', [
      'verify',
      '-x509_strict',
      '-CAfile',
      at('root.crt'),
      '-untrusted',
      at('leaf.crt'),
      at('leaf.crt'),
    ])
    expect(stdout).toContain('OK')
    expect(ca.caPem).toBe(await readFile(at('root.crt'), 'utf8'))
    // It must not outlive the intermediate.
    expect(leaf.notAfterMs).toBe(Date.parse(new X509Certificate(ca.certPem).validTo))
  })
})
