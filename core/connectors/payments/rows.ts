/**
 * Catalogue rows for operations that move or may move money: charges, intents, refunds, transfers, payouts, disputes.
 */
const MONEY = `
  POST   /v1/charges                                   charge.create             write high   amount,currency,customer,source,description +financial_impact
  GET    /v1/charges                                   charge.list               read  low
  GET    /v1/charges/search                            charge.search             read  low    query
  GET    /v1/charges/{id}                              charge.get                read  low
  POST   /v1/charges/{id}                              charge.update             write low
  POST   /v1/charges/{id}/capture                      charge.capture            write high   amount +financial_impact
  POST   /v1/charges/{id}/refund                       charge.refund             write high   amount,currency,reason +financial_impact +irreversible @same
  POST   /v1/charges/{id}/refunds                      charge.refund             write high   amount,currency,reason +financial_impact +irreversible @same
  POST   /v1/refunds                                   charge.refund             write high   amount,currency,charge,payment_intent,reason +financial_impact +irreversible
  GET    /v1/charges/{id}/refunds                      refund.list               read  low
  GET    /v1/refunds                                   refund.list               read  low
  GET    /v1/refunds/{id}                              refund.get                read  low
  POST   /v1/refunds/{id}                              refund.update             write low
  POST   /v1/refunds/{id}/cancel                       refund.cancel             write medium

  POST   /v1/payment_intents                           payment_intent.create     write high   amount,currency,customer,confirm +financial_impact
  GET    /v1/payment_intents                           payment_intent.list       read  low
  GET    /v1/payment_intents/search                    payment_intent.search     read  low    query
  GET    /v1/payment_intents/{id}                      payment_intent.get        read  low
  POST   /v1/payment_intents/{id}                      payment_intent.update     write high   amount,currency +financial_impact
  POST   /v1/payment_intents/{id}/confirm              payment_intent.confirm    write high   +financial_impact
  POST   /v1/payment_intents/{id}/capture              payment_intent.capture    write high   amount_to_capture +financial_impact
  POST   /v1/payment_intents/{id}/cancel               payment_intent.cancel     write high
  POST   /v1/payment_intents/{id}/increment_authorization  payment_intent.increment_authorization write high amount +financial_impact
  POST   /v1/payment_intents/{id}/apply_customer_balance   payment_intent.apply_customer_balance  write high amount,currency +financial_impact
  POST   /v1/payment_intents/{id}/verify_microdeposits     payment_intent.verify_microdeposits    write medium
  GET    /v1/setup_intents                             setup_intent.list         read  low
  POST   /v1/setup_intents                             setup_intent.create       write medium customer
  GET    /v1/setup_intents/{id}                        setup_intent.get          read  low
  POST   /v1/setup_intents/{id}                        setup_intent.update       write medium
  POST   /v1/setup_intents/{id}/confirm                setup_intent.confirm      write medium
  POST   /v1/setup_intents/{id}/cancel                 setup_intent.cancel       write low

  POST   /v1/transfers                                 transfer.create           write high   amount,currency,destination +financial_impact
  GET    /v1/transfers                                 transfer.list             read  low
  GET    /v1/transfers/{id}                            transfer.get              read  low
  POST   /v1/transfers/{id}                            transfer.update           write low
  POST   /v1/transfers/{id}/reversals                  transfer.reverse          write high   amount +financial_impact
  GET    /v1/transfers/{id}/reversals                  transfer.list_reversals   read  low
  POST   /v1/payouts                                   payout.create             write high   amount,currency,destination +financial_impact
  GET    /v1/payouts                                   payout.list               read  low
  GET    /v1/payouts/{id}                              payout.get                read  low
  POST   /v1/payouts/{id}                              payout.update             write low
  POST   /v1/payouts/{id}/cancel                       payout.cancel             write medium
  POST   /v1/payouts/{id}/reverse                      payout.reverse            write high   +financial_impact
  GET    /v1/balance                                   balance.retrieve          read  low
  GET    /v1/balance_transactions                      balance_transaction.list  read  low
  GET    /v1/balance_transactions/{id}                 balance_transaction.get   read  low
  GET    /v1/disputes                                  dispute.list              read  low
  GET    /v1/disputes/{id}                             dispute.get               read  low
  POST   /v1/disputes/{id}                             dispute.update            write medium
  POST   /v1/disputes/{id}/close                       dispute.close             write high   +financial_impact +irreversible
`

/** Catalogue rows for customers, products, prices and subscriptions. */
const CUSTOMERS = `
  POST   /v1/customers                                 customer.create           write low    email,name,coupon,promotion_code,plan
  GET    /v1/customers                                 customer.list             read  low
  GET    /v1/customers/search                          customer.search           read  low    query
  GET    /v1/customers/{id}                            customer.get              read  low
  POST   /v1/customers/{id}                            customer.update           write low    email,name,coupon,promotion_code,plan
  DELETE /v1/customers/{id}                            customer.delete           write medium +irreversible
  GET    /v1/customers/{id}/subscriptions              subscription.list         read  low
  POST   /v1/customers/{id}/subscriptions              subscription.create       write medium items,price,plan +financial_impact @same
  GET    /v1/customers/{customer}/subscriptions/{id}   subscription.get          read  low
  POST   /v1/customers/{customer}/subscriptions/{id}   subscription.update       write medium items,cancel_at_period_end +financial_impact @same
  DELETE /v1/customers/{customer}/subscriptions/{id}   subscription.cancel       write medium @same
  DELETE /v1/customers/{id}/subscription               subscription.cancel       write medium @same
  GET    /v1/customers/{id}/payment_methods            payment_method.list       read  low
  GET    /v1/customers/{id}/balance_transactions       customer_balance_transaction.list    read  low
  POST   /v1/customers/{id}/balance_transactions       customer_balance_transaction.create  write high amount,currency +financial_impact
  POST   /v1/subscriptions                             subscription.create       write medium customer,items +financial_impact
  GET    /v1/subscriptions                             subscription.list         read  low
  GET    /v1/subscriptions/search                      subscription.search       read  low    query
  GET    /v1/subscriptions/{id}                        subscription.get          read  low
  POST   /v1/subscriptions/{id}                        subscription.update       write medium items,cancel_at_period_end +financial_impact
  DELETE /v1/subscriptions/{id}                        subscription.cancel       write medium
  POST   /v1/subscriptions/{id}/resume                 subscription.resume       write medium +financial_impact

  POST   /v1/invoices                                  invoice.create            write medium customer,collection_method,auto_advance
  GET    /v1/invoices                                  invoice.list              read  low
  GET    /v1/invoices/search                           invoice.search            read  low    query
  POST   /v1/invoices/create_preview                   invoice.preview           read  low
  GET    /v1/invoices/{id}                             invoice.get               read  low
  POST   /v1/invoices/{id}                             invoice.update            write medium
  DELETE /v1/invoices/{id}                             invoice.delete            write medium +irreversible
  POST   /v1/invoices/{id}/pay                         invoice.pay               write high   +financial_impact
  POST   /v1/invoices/{id}/finalize                    invoice.finalize          write medium
  POST   /v1/invoices/{id}/send                        invoice.send              write medium
  POST   /v1/invoices/{id}/void                        invoice.void              write high   +irreversible
  POST   /v1/invoices/{id}/mark_uncollectible          invoice.mark_uncollectible  write medium
  GET    /v1/invoices/{id}/lines                       invoice.list_lines        read  low
  GET    /v1/payment_methods                           payment_method.list       read  low
  POST   /v1/payment_methods                           payment_method.create     write medium type
  GET    /v1/payment_methods/{id}                      payment_method.get        read  low
  POST   /v1/payment_methods/{id}                      payment_method.update     write low
  POST   /v1/payment_methods/{id}/attach               payment_method.attach     write medium customer
  POST   /v1/payment_methods/{id}/detach               payment_method.detach     write medium
  GET    /v1/products                                  product.list              read  low
  POST   /v1/products                                  product.create            write low    name
  GET    /v1/products/search                           product.search            read  low    query
  GET    /v1/products/{id}                             product.get               read  low
  POST   /v1/products/{id}                             product.update            write low    name
  DELETE /v1/products/{id}                             product.delete            write high   +irreversible
  GET    /v1/prices                                    price.list                read  low
  POST   /v1/prices                                    price.create              write medium product,currency,unit_amount
  GET    /v1/prices/search                             price.search              read  low    query
  GET    /v1/prices/{id}                               price.get                 read  low
  POST   /v1/prices/{id}                               price.update              write medium
  GET    /v1/checkout/sessions                         checkout_session.list     read  low
  POST   /v1/checkout/sessions                         checkout_session.create   write medium mode,customer
  GET    /v1/checkout/sessions/{id}                    checkout_session.get      read  low
  POST   /v1/checkout/sessions/{id}/expire             checkout_session.expire   write medium
  GET    /v1/events                                    event.list                read  low
  GET    /v1/events/{id}                               event.get                 read  low
  GET    /v1/account                                   account.get_self          read  low
  GET    /v1/accounts                                  account.list              read  low
  POST   /v1/accounts                                  account.create            write high
  GET    /v1/accounts/{id}                             account.get               read  low
  POST   /v1/accounts/{id}                             account.update            write high
  DELETE /v1/accounts/{id}                             account.delete            write high   +irreversible
`

export const PAYMENTS = MONEY + CUSTOMERS
