import { readFileSync, statSync } from 'node:fs'

/**
 * User account of the PostgreSQL processes. Without an account, PostgreSQL runs with the uid and gid of this process.
 */
export type Account = { readonly uid: number; readonly gid: number; readonly name: string }

const CANDIDATES = ['postgres', 'nobody']
const NOBODY: Account = { uid: 65_534, gid: 65_534, name: 'nobody' }

/**
 * Returns the account under which PostgreSQL must run when this process runs as root, because PostgreSQL refuses to
 * run as root. The account is the owner of the cluster's data directory, otherwise the user `postgres` or `nobody` of
 * /etc/passwd. Returns undefined when this process does not run as root.
 */
export function postgresAccount(clusterDir: string, passwd = '/etc/passwd'): Account | undefined {
  if (process.getuid?.() !== 0) return undefined
  const accounts = readAccounts(passwd)
  const owner = statSync(clusterDir, { throwIfNoEntry: false })
  if (owner !== undefined && owner.uid !== 0) {
    const known = accounts.find((account) => account.uid === owner.uid)
    return known ?? { uid: owner.uid, gid: owner.gid, name: `uid ${owner.uid}` }
  }
  for (const name of CANDIDATES) {
    const account = accounts.find((candidate) => candidate.name === name && candidate.uid !== 0)
    if (account !== undefined) return account
  }
  return NOBODY
}

function readAccounts(passwd: string): Account[] {
  const text = statSync(passwd, { throwIfNoEntry: false }) === undefined ? '' : readFileSync(passwd, 'utf8')
  return text.split('\n').flatMap((line) => {
    const [name, , uid, gid] = line.split(':')
    if (name === undefined || !/^\d+$/.test(uid ?? '') || !/^\d+$/.test(gid ?? '')) return []
    return [{ name, uid: Number(uid), gid: Number(gid) }]
  })
}
