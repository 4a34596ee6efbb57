/** The messages of an imaginary exchange, which several examples send. */

export interface OrderCreated {
  readonly order_id: number;
  readonly currency_pair: string;
  readonly price: number;
  readonly quantity: number;
  readonly side: "buy" | "sell";
  readonly timestamp: number;
}

export interface OrderConfirmed {
  readonly order_id: number;
  readonly price: number;
  readonly timestamp: number;
}

export interface OrderRejected {
  readonly order_id: number;
  readonly timestamp: number;
  readonly reason: string;
}

/** An event with the name of its kind, which tells how to read its payload. */
export type OrderEvent =
  | { readonly type: "order_created"; readonly payload: OrderCreated }
  | { readonly type: "order_confirmed"; readonly payload: OrderConfirmed }
  | { readonly type: "order_rejected"; readonly payload: OrderRejected };

/** The life of `count` orders: each is created, then every third one is rejected and the others are confirmed. */
export function orderEvents(count: number): OrderEvent[] {
  return Array.from({ length: count }, (_, index) => orderLife(index + 1)).flat();
}

function orderLife(orderId: number): OrderEvent[] {
  const timestamp = Date.now();
  const price = 60_000 + orderId * 12.5;
  const created: OrderCreated = {
    order_id: orderId,
    currency_pair: "BTC/EUR",
    price,
    quantity: 0.1 * orderId,
    side: orderId % 2 === 0 ? "sell" : "buy",
    timestamp,
  };
  const answer: OrderEvent =
    orderId % 3 === 0
      ? { type: "order_rejected", payload: { order_id: orderId, timestamp, reason: "the market is closed" } }
      : { type: "order_confirmed", payload: { order_id: orderId, price, timestamp } };
  return [{ type: "order_created", payload: created }, answer];
}

/** Reads an event whose kind and JSON text came apart. Throws for a kind that nobody knows. */
export function parseOrderEvent(type: string, json: string): OrderEvent {
  switch (type) {
    case "order_created":
      return { type, payload: JSON.parse(json) as OrderCreated };
    case "order_confirmed":
      return { type, payload: JSON.parse(json) as OrderConfirmed };
    case "order_rejected":
      return { type, payload: JSON.parse(json) as OrderRejected };
    default:
      throw new Error(`${type} is no kind of order event`);
  }
}

export function describe(event: OrderEvent): string {
  const order = `order ${event.payload.order_id}`;
  switch (event.type) {
    case "order_created": {
      const { side, quantity, currency_pair, price } = event.payload;
      return `${order} created: ${side} ${quantity.toFixed(1)} ${currency_pair} at ${price}`;
    }
    case "order_confirmed":
      return `${order} confirmed at ${event.payload.price}`;
    case "order_rejected":
      return `${order} rejected: ${event.payload.reason}`;
  }
}
