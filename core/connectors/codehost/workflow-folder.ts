/** Matches folders whose files the code host executes (GitHub, Gitea, Forgejo). */
const WORKFLOW = /^\.(github|gitea|forgejo)(\/(workflows|actions)(\/|$)|$)/

/**
 * Reports whether a file or folder with this path is a workflow, or holds workflows. The comparison ignores case,
 * surrounding blanks and redundant segments, as some file systems and servers do.
 */
export function isWorkflowPath(path: string): boolean {
  const parts = path.trim().toLowerCase().split('/')
  return WORKFLOW.test(parts.filter((part) => part !== '' && part !== '.').join('/'))
}
