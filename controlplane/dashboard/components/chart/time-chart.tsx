import { useComputedColorScheme, VisuallyHidden } from '@mantine/core'
import { useEffect, useRef } from 'react'
import type uPlot from 'uplot'
import { importWithRetry } from '../lazy/import-with-retry.ts'

export type ChartSeries = {
  readonly label: string
  /** A custom property of the style sheet, so that both colour schemes have their own. */
  readonly colour: string
  readonly values: ReadonlyArray<number | null>
}

type Props = {
  /** Beginning of each bucket, epoch seconds. */
  readonly times: readonly number[]
  readonly series: readonly ChartSeries[]
  /** Bars that stand on each other, or lines. */
  readonly isStacked?: boolean
  readonly unit?: string
  /** The same in a sentence, for those who do not see it. */
  readonly summary: string
}

const HEIGHT = 200
const loadDrawing = () => importWithRetry(() => import('./time-chart-drawing.ts'))

/** A head start beside the question for what is drawn; whoever draws asks again. */
export function preloadDrawing(): void {
  loadDrawing().catch(() => undefined)
}

/** A chart over time on a canvas; its library comes when the first one is shown. */
export function TimeChart({ times, series, isStacked = false, unit = '', summary }: Props) {
  const box = useRef<HTMLDivElement>(null)
  const scheme = useComputedColorScheme('light')
  useEffect(() => {
    const element = box.current
    if (element === null) return
    let chart: uPlot | null = null
    let isGone = false
    const resize = new ResizeObserver(() => chart?.setSize({ width: element.clientWidth, height: HEIGHT }))
    void loadDrawing().then(({ drawChart }) => {
      if (isGone) return
      chart = drawChart(element, { times, series, isStacked, unit, scheme, height: HEIGHT })
      resize.observe(element)
    })
    return () => {
      isGone = true
      resize.disconnect()
      chart?.destroy()
    }
  }, [times, series, isStacked, unit, scheme])
  return (
    <figure className="chart">
      <div ref={box} className="chart-box" aria-hidden="true" />
      <figcaption>
        <VisuallyHidden>{summary}</VisuallyHidden>
        {series.map(({ label, colour }) => (
          <span key={label} className="chart-key">
            <ColourMark colour={colour} />
            {label}
          </span>
        ))}
      </figcaption>
    </figure>
  )
}

function ColourMark({ colour }: { readonly colour: string }) {
  return <span className="chart-mark" style={{ background: `var(${colour})` }} />
}
