import { X509Certificate } from 'node:crypto'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { type DataFolder, readRunFile } from '../state/data-folder.ts'
import { lockHolder } from '../state/folder-lock.ts'
import { type Check, ok, problem, warning } from './check.ts'

const LOW_DISK_BYTES = 500 * 1024 * 1024
const RENEW_DAYS = 30

/** Checks the files and programs of an installation. The installation need not run. */
export async function localChecks(folder: DataFolder): Promise<Check[]> {
  if (!existsSync(folder.root)) {
    return [problem('data folder', `${folder.root} does not exist`, `chaperone up --data ${folder.root}`)]
  }
  return [await diskCheck(folder), ...secretChecks(folder), processCheck(folder), certificateCheck(folder)]
}

async function diskCheck(folder: DataFolder): Promise<Check> {
  const { bavail, bsize } = await statfs(folder.root)
  const free = bavail * bsize
  const found = `${folder.root}, ${Math.round(free / 1024 / 1024)} MiB free`
  if (free > LOW_DISK_BYTES) return ok('data folder', found)
  return warning(
    'data folder',
    found,
    'free disk space, because requests are not forwarded when the journal cannot be written',
  )
}

function secretChecks(folder: DataFolder): Check[] {
  const files = [
    folder.adminToken,
    folder.gatewayToken,
    folder.masterKey,
    folder.caKey,
    folder.enrolToken,
    folder.operatorToken,
  ]
  const open = files.filter((file) => existsSync(file) && (statSync(file).mode & 0o077) !== 0)
  if (open.length === 0) return [ok('secrets', 'readable by their owner only')]
  return open.map((file) => problem('secrets', `${file} is readable by other users`, `chmod 600 ${file}`))
}

function processCheck(folder: DataFolder): Check {
  const pid = lockHolder(folder.lock)
  const run = readRunFile(folder)
  if (pid === undefined)
    return problem(
      'processes',
      'Chaperone does not run in this data folder',
      `chaperone up --data ${folder.root}`,
    )
  if (run === undefined)
    return warning('processes', `pid ${pid} is starting or stopping`, 'wait a moment, then: chaperone doctor')
  return ok(
    'processes',
    `pid ${pid}: ${run.base_url}${run.gateway_url === null ? ', no gateway' : `, gateway ${run.gateway_url}`}`,
  )
}

function certificateCheck(folder: DataFolder): Check {
  if (!existsSync(folder.caCert))
    return warning(
      'certificate',
      `${folder.caCert} does not exist`,
      'start the gateway, which creates it: chaperone up',
    )
  const certificate = new X509Certificate(readFileSync(folder.caCert))
  const days = Math.floor((Date.parse(certificate.validTo) - Date.now()) / 86_400_000)
  if (days < RENEW_DAYS) {
    return problem(
      'certificate',
      `the CA expires in ${days} days`,
      `rm ${folder.caCert} ${folder.caKey}, then restart Chaperone, which creates a new CA`,
    )
  }
  return ok('certificate', `the CA is valid for ${days} days`)
}
