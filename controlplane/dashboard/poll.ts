import { ApiError } from './api.ts'

/** Calls `load` now and then every `periodMs` while the page is visible; returns what stops it. A lost session reloads. */
export function poll(
  load: () => Promise<void>,
  periodMs: number,
  onProblem: (message: string) => void,
): () => void {
  let isStopped = false
  let timer = 0
  const turn = async () => {
    const problem = document.hidden ? '' : await problemOf(load)
    if (isStopped) return
    onProblem(problem)
    timer = window.setTimeout(() => void turn(), periodMs)
  }
  void turn()
  return () => {
    isStopped = true
    clearTimeout(timer)
  }
}

async function problemOf(load: () => Promise<void>): Promise<string> {
  try {
    await load()
    return ''
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) location.reload()
    return error instanceof Error ? error.message : String(error)
  }
}
