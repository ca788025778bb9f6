import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createTestCa } from '../../support/test-ca.ts'

/** A throw-away CA and one leaf for `names`, as the files that proxies want. */
export async function issueTestCertificates(
  folder: string,
  names: readonly string[],
): Promise<{ readonly caFile: string; readonly keyFile: string; readonly certFile: string }> {
  const ca = createTestCa()
  const leaf = ca.issue(...names)
  const tls = join(folder, 'tls')
  mkdirSync(tls, { recursive: true })
  const files = {
    caFile: join(tls, 'ca.crt'),
    keyFile: join(tls, 'leaf.key'),
    certFile: join(tls, 'leaf.crt'),
  }
  writeFileSync(files.caFile, ca.cert)
  writeFileSync(files.keyFile, leaf.key)
  writeFileSync(files.certFile, leaf.cert)
  return files
}
