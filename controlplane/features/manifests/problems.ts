import { isDeepStrictEqual } from 'node:util'
import type { ManifestProblem } from '../../../core/wire/operator/operator.ts'
import type { Query } from '../../db/query.ts'
import type { ManifestSource } from './rows.ts'

/** Lists the files of the source that contain an unreadable document. */
export async function brokenFiles(q: Query, source: ManifestSource): Promise<ReadonlySet<string>> {
  return new Set((await listProblems(q)).filter((p) => p.source === source).map(({ file }) => file))
}

/** Replaces the file problems of the source. Writes nothing when the problems are unchanged. */
export async function writeProblems(
  q: Query,
  source: ManifestSource,
  problems: readonly ManifestProblem[],
): Promise<void> {
  const known = (await listProblems(q)).filter((problem) => problem.source === source)
  const plain = known.map(({ file, line, message }) => ({ file, line, message }))
  if (isDeepStrictEqual(sortedProblems(plain), sortedProblems(problems))) return
  await replaceProblems(q, source, problems)
}

function sortedProblems(problems: readonly ManifestProblem[]): string[] {
  return problems.map(({ file, line, message }) => JSON.stringify([file, line, message])).sort()
}

async function replaceProblems(
  q: Query,
  source: ManifestSource,
  problems: readonly ManifestProblem[],
): Promise<void> {
  await q.query('delete from manifest_problems where source = $1', [source])
  await q.query(
    `insert into manifest_problems (source, file, line, message)
     select $1, r.file, r.line, r.message from jsonb_to_recordset($2::jsonb) as r(file text, line integer, message text)`,
    [source, JSON.stringify(problems)],
  )
}

export async function listProblems(
  q: Query,
): Promise<ReadonlyArray<ManifestProblem & { readonly source: ManifestSource }>> {
  const { rows } = await q.query<ManifestProblem & { source: ManifestSource }>(
    'select source, file, line, message from manifest_problems order by source, file, line, message',
    [],
  )
  return rows
}
