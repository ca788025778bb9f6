import { useComputedColorScheme, VisuallyHidden } from '@mantine/core'
import { useEffect, useRef } from 'react'
import type uPlot from 'uplot'
import { importWithRetry } from '../lazy/import-with-retry.ts'

export type ChartSeries = {
  readonly label: string
  /** Name of a CSS custom property; each colour scheme defines its own value. */
  readonly colour: string
  readonly values: ReadonlyArray<number | null>
}

type Props = {
  /** Start of each time bucket in Unix seconds. */
  readonly times: readonly number[]
  readonly series: readonly ChartSeries[]
  /** True for stacked bars, false for lines. */
  readonly isStacked?: boolean
  readonly unit?: string
  /** Text alternative of the chart for screen readers. */
  readonly summary: string
}

const HEIGHT = 200
const loadDrawing = () => importWithRetry(() => import('./time-chart-drawing.ts'))

/** Loads the chart library early. Ignores errors, because `TimeChart` loads the library again. */
export function preloadDrawing(): void {
  loadDrawing().catch(() => undefined)
}

/** Renders a time series chart on a canvas. The chart library is a chunk of its own that loads with the first chart. */
export function TimeChart({ times, series, isStacked = false, unit = '', summary }: Props) {
  const box = useRef<HTMLDivElement>(null)
  const scheme = useComputedColorScheme('light')
  useEffect(() => {
    const element = box.current
    if (element === null) return
    let chart: uPlot | null = null
    let isUnmounted = false
    const resize = new ResizeObserver(() => chart?.setSize({ width: element.clientWidth, height: HEIGHT }))
    void loadDrawing().then(({ drawChart }) => {
      if (isUnmounted) return
      chart = drawChart(element, { times, series, isStacked, unit, scheme, height: HEIGHT })
      resize.observe(element)
    })
    return () => {
      isUnmounted = true
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
