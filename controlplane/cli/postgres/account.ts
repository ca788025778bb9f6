import { readFileSync, statSync } from 'node:fs'

/** The uid and gid that PostgreSQL runs with; undefined: our own. */
export type Account = { readonly uid: number; readonly gid: number; readonly name: string }

const CANDIDATES = ['postgres', 'nobody']
const NOBODY: Account = { uid: 65_534, gid: 65_534, name: 'nobody' }

/**
 * PostgreSQL refuses to run as root, so root lends it another account: the one that already owns the cluster,
 * else `postgres`, else `nobody` of /etc/passwd. Everybody else runs it as themselves.
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
