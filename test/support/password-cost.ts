/** A thousandth of the work of the product: tests sign in hundreds of times. */
export const PASSWORD_COST = { N: 2 ** 5, r: 8, p: 1 }
