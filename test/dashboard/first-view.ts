import type { Browser, Page } from 'playwright-core'

type TraceEvent = {
  readonly name: string
  /** Microseconds. */
  readonly ts: number
  readonly args: {
    readonly data?: { readonly encodedDataLength?: number; readonly documentLoaderURL?: string }
  }
}

/**
 * Loads the current page again with an empty cache until `isShown`, and reads the trace of Chromium: the bytes received over the
 * network, and the time from the navigation to the largest paint, in ms.
 */
export async function traceFirstView(
  browser: Browser,
  page: Page,
  isShown: () => Promise<void>,
): Promise<{ readonly bytes: number; readonly paintMs: number }> {
  const session = await page.context().newCDPSession(page)
  await session.send('Network.clearBrowserCache')
  await session.detach()
  await browser.startTracing(page, { categories: ['loading', 'devtools.timeline', 'blink.user_timing'] })
  await page.reload()
  await isShown()
  const trace = JSON.parse((await browser.stopTracing()).toString()) as {
    readonly traceEvents: readonly TraceEvent[]
  }
  const of = (name: string) => trace.traceEvents.filter((event) => event.name === name)
  const bytes = of('ResourceFinish').reduce((sum, { args }) => sum + (args.data?.encodedDataLength ?? 0), 0)
  const began = of('navigationStart').find(
    ({ args }) => args.data?.documentLoaderURL === page.url().split('#')[0],
  )
  const painted = of('largestContentfulPaint::Candidate').at(-1)
  if (began === undefined || painted === undefined) throw new Error('the trace has no navigation or no paint')
  return { bytes, paintMs: (painted.ts - began.ts) / 1_000 }
}
