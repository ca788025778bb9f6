import type { Logger } from 'pino'
import { lineOfReason } from '../../core/crd/manifests/field-lines.ts'
import { IN_FORCE_TEXT, type ManifestProblem, type PushReply } from '../../core/wire/operator/operator.ts'
import type { SetResult } from '../reconcile/push-set.ts'
import type { FolderItem } from './manifest-set.ts'

/**
 * Result of a push. `applied` objects are in force as written; `problems` are problems of files and refusals of
 * objects.
 */
export type FolderResult = { readonly applied: number; readonly problems: readonly ManifestProblem[] }

/** Reports results as log lines, because a file has no status. A problem is logged once while it lasts. */
export type FolderReport = {
  /** Logs problems of files. Remembers which refusals are already logged, so that `result` does not log them again. */
  fileProblems(problems: readonly ManifestProblem[]): void
  result(
    items: readonly FolderItem[],
    fileProblems: readonly ManifestProblem[],
    result: SetResult,
  ): FolderResult
}

export function createFolderReport(log: Logger): FolderReport {
  let logged: ReadonlySet<string> = new Set()
  return {
    fileProblems(problems) {
      logged = new Set([...logged, ...logNew(log, logged, problems)])
    },
    result(items, fileProblems, { replies, removed }) {
      if (removed > 0) log.info({ removed }, 'manifest objects removed')
      const refusals: ManifestProblem[] = []
      let refused = 0
      for (const item of items) {
        const reply = replies.get(item.object.key)
        if (reply === undefined) continue
        logReply(log, item, reply)
        if (reply.accepted) continue
        refused += 1
        refusals.push(...refusalProblems(item, reply))
      }
      const problems = [...fileProblems, ...refusals]
      logged = logNew(log, logged, problems)
      return { applied: items.length - refused, problems }
    },
  }
}

function logReply(log: Logger, { object }: FolderItem, reply: PushReply): void {
  const place = { object: object.key, file: object.file, line: object.line }
  for (const warning of reply.warnings) {
    const line = lineOfReason(object.lines, warning)
    log.warn({ ...place, line }, `manifest warning: ${warning}`)
  }
  if (reply.accepted) {
    log.info({ ...place, version: reply.version }, 'manifest object applied')
    return
  }
  const text = `manifest object refused: ${object.key}; ${IN_FORCE_TEXT[reply.in_force]}`
  log.error({ ...place, in_force: reply.in_force }, text)
}

/**
 * Returns the refusals of an object, with file and line of the field. Returns none for an object of a broken file,
 * whose problems are already reported.
 */
function refusalProblems({ object, body }: FolderItem, reply: PushReply): ManifestProblem[] {
  if (body.problems !== undefined) return []
  const { file, key } = object
  return reply.reasons.map((reason) => ({
    file,
    line: lineOfReason(object.lines, reason),
    message: `${key} was refused: ${reason}`,
  }))
}

/** Logs the problems that are not in `before`. Returns all problems, for the next comparison. */
function logNew(
  log: Logger,
  before: ReadonlySet<string>,
  problems: readonly ManifestProblem[],
): ReadonlySet<string> {
  const now = new Set<string>()
  for (const { file, line, message } of problems) {
    const text = `${file}:${line ?? '?'} ${message}`
    now.add(text)
    if (!before.has(text)) log.error({ file, line }, `manifest problem: ${text}`)
  }
  return now
}
