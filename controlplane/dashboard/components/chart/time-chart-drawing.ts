import uPlot from 'uplot'
import type { ChartSeries } from './time-chart.tsx'

type Drawing = {
  readonly times: readonly number[]
  readonly series: readonly ChartSeries[]
  readonly isStacked: boolean
  readonly unit: string
  readonly scheme: 'light' | 'dark'
  readonly height: number
}

/** Draws the chart into the element. The caller must call `destroy` when its component unmounts. */
export function drawChart(element: HTMLElement, drawing: Drawing): uPlot {
  const style = getComputedStyle(element)
  const colourOf = (name: string) => style.getPropertyValue(name).trim()
  const heights = drawing.isStacked ? stacked(drawing.series) : drawing.series.map(({ values }) => values)
  // Draws the tallest bar of a stack first, so that it does not cover the other bars.
  const order = drawing.isStacked
    ? drawing.series.map((_, n) => drawing.series.length - 1 - n)
    : [...drawing.series.keys()]
  const data = [drawing.times, ...order.map((n) => heights[n] ?? [])] as unknown as uPlot.AlignedData
  const shape = drawing.isStacked ? uPlot.paths.bars?.({ size: [0.8, 40] }) : uPlot.paths.linear?.()
  const options: uPlot.Options = {
    width: element.clientWidth,
    height: drawing.height,
    legend: { show: false },
    cursor: { show: false },
    scales: {
      x: { time: true },
      y: { range: (_self, _min, max) => [0, Math.max(max * 1.1, drawing.isStacked ? 4 : 10)] },
    },
    axes: [
      { ...axis(colourOf), values: (_self, ticks) => ticks.map((tick) => tickText(tick, drawing.times)) },
      {
        ...axis(colourOf),
        size: 68,
        values: (_self, ticks) => ticks.map((tick) => label(tick, drawing.unit)),
      },
    ],
    series: [
      {},
      ...order.map((n) => {
        const colour = colourOf(drawing.series[n]?.colour ?? '')
        return {
          stroke: colour,
          ...(drawing.isStacked ? { fill: colour } : {}),
          width: drawing.isStacked ? 0 : 2,
          points: { show: !drawing.isStacked, size: 5, fill: colour },
          spanGaps: true,
          ...(shape === undefined ? {} : { paths: shape }),
        }
      }),
    ],
  }
  return new uPlot(options, data, element)
}

function axis(colourOf: (name: string) => string): uPlot.Axis {
  const grid = { stroke: colourOf('--chart-grid'), width: 1 }
  return { stroke: colourOf('--mantine-color-dimmed'), grid, ticks: grid, font: '12px system-ui' }
}

/** Returns cumulative values. Each series is added to the sum of the series before it. */
export function stacked(series: readonly ChartSeries[]): number[][] {
  const sums: number[][] = []
  for (const [n, { values }] of series.entries()) {
    sums.push(values.map((value, at) => (value ?? 0) + (sums[n - 1]?.[at] ?? 0)))
  }
  return sums
}

const DAY_S = 86_400

/** Formats a tick in the user's locale: as time of day for a range up to a day, otherwise as date. */
function tickText(tick: number, times: readonly number[]): string {
  const isLong = (times.at(-1) ?? 0) - (times[0] ?? 0) > DAY_S
  const at = new Date(tick * 1_000)
  if (isLong) return at.toLocaleDateString(undefined, { day: 'numeric', month: 'short' })
  return at.toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })
}

function label(tick: number, unit: string): string {
  if (!Number.isInteger(tick) && unit === '') return ''
  if (unit === 'ms' && tick >= 1_000) return `${tick / 1_000} s`
  const text = tick >= 10_000 ? `${Math.round(tick / 1_000)}k` : String(tick)
  return unit === '' ? text : `${text} ${unit}`
}
